import { expect, test } from "vitest";
import { chooseOwn } from "../../../adapters/inbox/postgres/store/own-expansions.ts";
import { createOtherWorkers } from "../../../adapters/inbox/postgres/workers/other-workers.ts";
import type { Expansion } from "../../../src/adapter.ts";

const others = createOtherWorkers({
  id: 1,
  handled: { default: ["email.updated", "booking"], own: ["email.updated"] },
});
others.see([{ id: 2, handled: { default: ["contact.updated", "tracking.open"] }, expands: false }]);

interface Fields {
  readonly id?: string;
  readonly account?: number | undefined;
  readonly resource?: string;
  readonly lane?: string | undefined;
  readonly consumer?: string;
  readonly key?: string;
}

/** Of one event of each type. */
function delivery(types: readonly string[], { id = String((nextId += 1)), ...fields }: Fields = {}): Expansion {
  const { account, resource = "/x", consumer = "default", key } = { account: 5, ...fields };
  const lane = "lane" in fields ? fields.lane : `${consumer} ${account} ${resource} record`;
  const events = types.map((type, entry) => ({
    entry,
    event: { type, accountId: account, resource },
    unique: key === undefined ? undefined : { key, content: "" },
    jobs: [{ state: "waiting", consumer, lane, mergeKey: undefined }],
  }));
  return { id, events, cursor: undefined } as unknown as Expansion;
}
let nextId = 0;

const foreign = (fields: Fields = {}): Expansion => delivery(["contact.updated"], { resource: "/contacts", ...fields });
const email = (fields: Fields = {}): Expansion => delivery(["email.updated"], { resource: "/email", ...fields });

/** Places of those that the worker takes. */
function takes(...pieces: readonly Expansion[]): number[] {
  const { own, heir } = chooseOwn(pieces, others);
  expect(heir).toBe(2);
  return own.map((piece) => pieces.indexOf(piece));
}

test("what is another worker's does not hold up what has nothing to do with it", () => {
  expect(takes(foreign(), email(), foreign(), email({ account: 6 }), email({ lane: undefined }))).toEqual([1, 3, 4]);
});

test.each<[what: string, Fields, Fields]>([
  ["the same resource of the account", { resource: "/same" }, { resource: "/same" }],
  ["a lane that a handler named, of a consumer that the other worker has", {}, { lane: "default =a" }],
  ["the same natural key", { key: "k" }, { key: "k", account: 6 }],
  ["the same delivery", { id: "1" }, { id: "1" }],
])("what has %s waits behind it", (_, first, second) => {
  expect(takes(email(), foreign(first), email(second))).toEqual([0]);
});

test("what is of any of its families in the account waits behind it", () => {
  const click = (fields: Fields = {}): Expansion => delivery(["tracking.click"], { resource: "/other", ...fields });
  expect(takes(delivery(["contact.updated", "tracking.open"]), click(), click({ account: 6 }))).toEqual([2]);
});

test("what waits behind it holds up in its turn", () => {
  const second = email({ lane: "default =a" });
  expect(takes(foreign(), second, email(), email({ account: 6 }))).toEqual([3]);
});

test("a lane that a handler named, of a consumer that the other worker lacks, goes on", () => {
  expect(takes(foreign(), email({ consumer: "own", lane: "own =a" }))).toEqual([1]);
});

test("all is this worker's where none has more", () => {
  const pieces = [email(), delivery(["booking"])];
  expect(chooseOwn(pieces, others)).toEqual({ own: pieces, heir: undefined });
  expect(chooseOwn([foreign()], undefined).own).toHaveLength(1);
});
