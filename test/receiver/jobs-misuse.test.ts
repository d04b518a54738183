import { UsageError } from "hookline";
import { describe, expect, test } from "vitest";
import { idsAndStates, receiverWithJobsInEachState } from "../support/job-fixtures.ts";

/** What a program without types, or with data from elsewhere, may give. */
type Loose = Readonly<Record<"list" | "get" | "replay" | "drop" | "erase", (...given: unknown[]) => Promise<unknown>>>;

const SELECTIONS: readonly (readonly [unknown, string])[] = [
  [{}, "a filter without a state, expected one that names its state"],
  [{ type: "email" }, "a filter without a state"],
  [{ state: undefined, accountId: 7 }, "a filter without a state"],
  [new Set(["1"]), "a filter without a state"],
  [undefined, "got undefined, expected an object of type, accountId"],
  [null, "got null, expected an object"],
  [7, "got 7, expected an object"],
  [[7], "the id 7, expected a job's id, which is a text"],
  [["1", undefined], "the id undefined"],
  [[["1"]], 'the id ["1"]'],
  [{ state: "failed" }, 'state "failed", expected one of waiting, running, done, skipped, dead, unhandled'],
  [{ state: ["dead", "failed"] }, 'state ["dead", "failed"]'],
  [{ state: null }, "state null"],
  [{ state: "dead", type: "email.moved" }, 'type "email.moved", expected the name of an event or of a family'],
  [{ state: "dead", type: ["email"] }, 'type ["email"]'],
  [{ state: "dead", accountId: "2002" }, 'accountId "2002", expected its number'],
  [{ state: "dead", accountId: 2.5 }, "accountId 2.5"],
  [{ state: "dead", subscription: Number.NaN }, "subscription NaN"],
  [{ state: "dead", consumer: "" }, 'consumer "", expected the name of a consumer'],
  [{ state: "dead", consumer: 7 }, "consumer 7"],
  [{ state: "dead", receivedAfter: new Date(Number.NaN) }, "receivedAfter Invalid Date, expected a valid Date"],
  [{ state: "dead", receivedBefore: "2026-05-06" }, 'receivedBefore "2026-05-06"'],
  [{ state: "dead", receivedBefore: {} }, "receivedBefore an object"],
  [{ state: "dead", acountId: 7 }, 'the unknown field "acountId", expected only type, accountId'],
  [{ state: "dead", constructor: 7 }, 'the unknown field "constructor"'],
  [{ state: "dead", limit: 7 }, 'the unknown field "limit"'],
];

describe.each(["replay", "drop"] as const)("%s", (verb) => {
  test.each(SELECTIONS)("refuses the selection %j", async (selection, message) => {
    const { receiver } = await receiverWithJobsInEachState();
    const before = idsAndStates((await receiver.jobs.list()).jobs);
    await expectRefusal((receiver.jobs as unknown as Loose)[verb](selection), `jobs.${verb}() got`, message);
    expect(idsAndStates((await receiver.jobs.list()).jobs)).toEqual(before);
  });

  test.each([
    [{ dry: true }, 'the unknown field "dry"'],
    [{ dryRun: 1 }, "dryRun 1, expected true or false"],
    [{ dryRun: "false" }, 'dryRun "false"'],
    [null, "got null, expected an object of dryRun"],
    [true, "got true"],
  ])("refuses the options %j, for it must not change what was only to be counted", async (options, message) => {
    const { receiver } = await receiverWithJobsInEachState();
    await expectRefusal((receiver.jobs as unknown as Loose)[verb]({ state: "dead" }, options), message);
    expect((await receiver.jobs.list({ state: "dead" })).jobs).toHaveLength(1);
  });

  test("says how to name a state", async () => {
    const { receiver } = await receiverWithJobsInEachState();
    const { fix } = await expectRefusal((receiver.jobs as unknown as Loose)[verb]({}));
    expect(fix).toContain(`jobs.${verb}({ state: "dead" })`);
  });
});

describe("list", () => {
  test.each([
    [{ limit: 0 }, "limit 0, expected a whole number from 1 to 1,000"],
    [{ limit: 1_001 }, "limit 1001"],
    [{ limit: 2.5 }, "limit 2.5"],
    [{ limit: -1 }, "limit -1"],
    [{ limit: "10" }, 'limit "10"'],
    [{ limit: Infinity }, "limit Infinity"],
    [{ after: 7 }, "after 7, expected the `next` of the page before"],
    [{ after: "" }, 'after ""'],
    [{ after: "abc" }, 'after "abc", expected the `next` of the page before'],
    [{ type: "mail" }, 'type "mail"'],
    [{ state: "failed" }, 'state "failed"'],
    [{ states: "dead" }, 'the unknown field "states"'],
    [null, "got null"],
    ["dead", 'got "dead", expected an object'],
    [["1"], 'got ["1"], expected an object'],
  ])("refuses the filter %j", async (filter, message) => {
    const { receiver } = await receiverWithJobsInEachState();
    await expectRefusal((receiver.jobs as unknown as Loose).list(filter), "jobs.list()", message);
  });

  test("lists the names that a type may have", async () => {
    const { receiver } = await receiverWithJobsInEachState();
    const { fix } = await expectRefusal((receiver.jobs as unknown as Loose).list({ type: "mail" }));
    for (const name of ["email.created", "calendarEvent.changes", "tracking", "lifecycle", "*"])
      expect(fix).toContain(name);
  });
});

test.each([0, -1, Number.NaN, "5", true, null])("replay refuses %j jobs a second", async (perSecond) => {
  const { receiver } = await receiverWithJobsInEachState();
  await expectRefusal(
    (receiver.jobs as unknown as Loose).replay({ state: "dead" }, { perSecond }),
    "expected a number above 0",
  );
});

test("drop has no rate", async () => {
  const { receiver } = await receiverWithJobsInEachState();
  await expectRefusal(
    (receiver.jobs as unknown as Loose).drop("1", { perSecond: 1 }),
    'the unknown field "perSecond", expected only dryRun',
  );
});

test.each([7, undefined, null, ["1"], {}])("get refuses the id %j", async (id) => {
  const { receiver } = await receiverWithJobsInEachState();
  await expectRefusal((receiver.jobs as unknown as Loose).get(id), "jobs.get() got the id", "a job's id");
});

test.each(["2002", "", " ", "0x7d2", undefined, null, Number.NaN, 2.5, [2002], {}])(
  "erase refuses the account %j",
  async (accountId) => {
    const { receiver } = await receiverWithJobsInEachState();
    await expectRefusal((receiver.jobs as unknown as Loose).erase(accountId), "jobs.erase() got the account");
    expect((await receiver.jobs.list()).jobs).toHaveLength(5);
  },
);

async function expectRefusal(call: Promise<unknown>, ...parts: readonly string[]): Promise<UsageError> {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof UsageError)) throw new Error("it was not refused", { cause: error });
  expect(error.code).toBe("jobs-invalid");
  for (const part of parts) expect(error.message).toContain(part);
  return error;
}

test("list gives the newest first of dead jobs alone", async () => {
  const { receiver } = await receiverWithJobsInEachState();
  for (const filter of [{}, { state: "done" }, { state: ["dead", "unhandled"] }])
    await expect((receiver.jobs as Loose).list({ ...filter, newestFirst: true })).rejects.toThrow(
      expect.objectContaining({ code: "jobs-invalid", message: expect.stringContaining('`state: "dead"`') as string }),
    );
  expect((await receiver.jobs.list({ state: "dead", newestFirst: true })).jobs).toHaveLength(1);
});
