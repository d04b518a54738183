import { describe, expect, test } from "vitest";
import type { LoadedJob } from "../../../adapters/inbox/sqlite/thread/records.ts";
import {
  fromLoaded,
  toClaimed,
  toDelivery,
  toNewJobs,
  toOtherRecord,
  toRow,
  type Row,
} from "../../../adapters/inbox/sqlite/work/row-encoding.ts";
import { FRESH, type NewEvent, type NewJob } from "../../../src/adapter.ts";
import { mail, notice, told, UNHANDLED } from "../../suites/inbox/deliveries.ts";
import { makeDelivery } from "../../support/make-delivery.ts";

const ERROR = { name: "Error", message: "no", at: 5 };
const JOB: NewJob = { state: "waiting", consumer: "crm", lane: "email 1", mergeKey: "1" };

describe("a job that was read from the file", () => {
  test("has all that the file says of it", () => {
    const progress = {
      attempts: 2,
      deaths: 1,
      groupMax: 4,
      firstAttemptAt: 9,
      runAt: 30,
      delayMs: 20,
      error: JSON.stringify(ERROR),
    };
    expect(fromLoaded([7, 3, 1, "crm", "email 1", "1", 100, 6, progress])).toEqual({
      id: 7,
      delivery: 3,
      entry: 1,
      consumer: "crm",
      lane: "email 1",
      mergeKey: "1",
      receivedAt: 100,
      replayOf: 6,
      isMarked: false,
      held: undefined,
      progress: {
        ...FRESH,
        attempts: 2,
        deaths: 1,
        groupMax: 4,
        firstAttemptAt: 9,
        runAt: 30,
        delayMs: 20,
        error: ERROR,
      },
      next: undefined,
      queuedIn: undefined,
    });
  });

  test("has nothing of what the file has not", () => {
    const progress = {
      attempts: 1,
      deaths: 0,
      groupMax: null,
      firstAttemptAt: null,
      runAt: 0,
      delayMs: 0,
      error: null,
    };
    const loaded: LoadedJob = [7, 3, 1, "crm", null, null, 100, null, progress];
    const nothing = { lane: undefined, mergeKey: undefined, replayOf: undefined };
    expect(fromLoaded(loaded)).toMatchObject({
      ...nothing,
      progress: { groupMax: undefined, firstAttemptAt: undefined, error: undefined },
    });
    expect(fromLoaded([7, 3, 1, "crm", null, null, 100, null, null]).progress).toBe(FRESH);
  });
});

describe("a job that was just made", () => {
  const origin = { id: 7, delivery: 3, entry: 1, receivedAt: 100, isMarked: true, held: undefined };

  test("was never tried", () => {
    expect(toRow(JOB, origin)).toEqual({
      ...origin,
      consumer: "crm",
      lane: "email 1",
      mergeKey: "1",
      replayOf: undefined,
      progress: FRESH,
      next: undefined,
      queuedIn: undefined,
    });
  });

  test("of nobody has an empty consumer", () => {
    expect(toRow(UNHANDLED, origin).consumer).toBe("");
  });
});

describe("a claimed job", () => {
  const row: Row = fromLoaded([7, 3, 1, "crm", "email 1", "1", 100, 6, null]);
  const delivery = makeDelivery("read");

  test("has the delivery that was read for it, and the ids as texts", () => {
    expect(toClaimed(row, delivery)).toEqual({
      id: "7",
      deliveryId: "3",
      entry: 1,
      consumer: "crm",
      lane: "email 1",
      mergeKey: "1",
      attempt: 0,
      firstAttemptAt: 0,
      deaths: 0,
      replayOf: "6",
      delivery,
      event: undefined,
    });
    expect(toClaimed({ ...row, replayOf: undefined }, delivery).replayOf).toBeUndefined();
  });

  test("has the delivery and the event that it holds, where it holds them", () => {
    const [{ event }] = mail(["a"]).events as [NewEvent];
    const held = { event, hold: { delivery: makeDelivery("held"), bytes: 1, jobs: 1 } };
    const claimed = toClaimed({ ...row, held }, undefined);
    expect(claimed.delivery).toBe(held.hold.delivery);
    expect(claimed.event).toBe(event);
  });

  test("whose delivery is nowhere is an error that names both", () => {
    expect(() => toClaimed(row, undefined)).toThrow("The delivery 3 of job 7 is not in the file.");
  });
});

describe("new jobs on their way into the file", () => {
  test("are a line each, of those without a consumer a short one, and a letter each for the state", () => {
    const { events } = mail([
      { id: "a", ...JOB },
      { id: "b", ...UNHANDLED },
      { id: "c", ...JOB, lane: undefined, mergeKey: undefined },
    ]);
    const { lines, states, account, subscription, extras } = toNewJobs(events, ({ lane }) => lane !== undefined);
    expect(JSON.parse(lines)).toEqual([
      [0, "email.updated", "crm", "email 1", "1"],
      [1, "email.updated"],
      [2, "email.updated", "crm", null, null],
    ]);
    expect({ states, account, subscription, extras }).toEqual({
      states: "fuw",
      account: 2002,
      subscription: 1001,
      extras: null,
    });
  });

  test("have beside them unique keys, with the place of their jobs, and notices", () => {
    const unique = told({ key: "k", content: "1" }, { key: "l", content: "2" });
    expect(JSON.parse(toNewJobs(unique.events, () => false).extras ?? "")).toEqual({
      unique: [
        ["k", "1", 0, 0, 1],
        ["l", "2", 1, 1, 1],
      ],
      notices: [],
    });
    const notices = [notice("gone").events[0], notice(undefined).events[0]] as NewEvent[];
    expect(JSON.parse(toNewJobs(notices, () => false).extras ?? "")).toEqual({
      unique: [],
      notices: [
        [2002, 1001, "/email/messages", "gone"],
        [2002, 1001, "/email/messages", null],
      ],
    });
  });

  test("of no event are none", () => {
    expect(toNewJobs([], () => true)).toEqual({
      lines: "[]",
      states: "",
      account: null,
      subscription: null,
      extras: null,
    });
  });
});

test("a stored delivery is as it was, with a source and without", () => {
  const { headers: _, ...rest } = makeDelivery("x");
  for (const source of [undefined, "crm"]) {
    const row = {
      ...rest,
      id: 1,
      source: source ?? null,
      headers: '{"content-type":"text/plain"}',
      body: new Uint8Array(rest.body),
    };
    const headers = { "content-type": "text/plain" };
    expect(toDelivery(row)).toEqual({ ...rest, source, headers, body: Buffer.from("x") });
  }
});

describe("what a settlement makes of a job", () => {
  test.each(["dead", "unhandled"] as const)("that is %s: what is left of it", (state) => {
    expect(toOtherRecord(7, { ...FRESH, state, attempts: 3, error: ERROR, settledAt: 50 })).toEqual({
      id: 7,
      to: state,
      attempts: 3,
      error: JSON.stringify(ERROR),
      settledAt: 50,
    });
  });

  test("that waits again: when, and all that counts", () => {
    const retried = { ...FRESH, attempts: 3, deaths: 1, groupMax: 2, firstAttemptAt: 9, runAt: 60, delayMs: 40 };
    expect(toOtherRecord(7, retried)).toEqual({
      id: 7,
      to: "waiting",
      attempts: 3,
      deaths: 1,
      groupMax: 2,
      firstAttemptAt: 9,
      runAt: 60,
      delayMs: 40,
      error: null,
    });
    expect(toOtherRecord(7, { ...retried, error: ERROR })).toMatchObject({
      to: "waiting",
      error: JSON.stringify(ERROR),
    });
  });
});
