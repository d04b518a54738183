import { UsageError } from "hookline";
import { describe, expect, test } from "vitest";
import { mailBody, receiverWithJobsInEachState } from "../support/job-fixtures.ts";
import { bodyOf, change } from "../support/make-delivery.ts";
import { idOf, rig } from "../support/rig.ts";

function named(name: string): Error {
  return Object.assign(new Error("no"), { name });
}

/** A receiver whose dead jobs have the name of their record as that of their error. */
async function receiverWithErrors() {
  const made = rig({ attempts: 1 });
  made.receiver.on("email", (event) => {
    throw named(idOf(event).replace(/-.*/, ""));
  });
  await made.receiver.start();
  return made;
}

describe("summary", () => {
  test("counts by consumer, type and name of the last error, the largest first", async () => {
    const { receiver, send, pass, clock } = await receiverWithErrors();
    await send(mailBody(2002, ["TypeError-1", "RangeError-2", "TypeError-3"]));
    await receiver.idle();
    await pass(1_000);
    await send(bodyOf({ payloads: [change("TypeError-4"), change("TypeError-5", "created")] }));
    await receiver.idle();
    const group = { consumer: "default", type: "email.updated" };
    expect(await receiver.jobs.summary({ state: "dead" })).toEqual({
      groups: [
        { ...group, error: "TypeError", count: 3, newestAt: clock.date() },
        { ...group, error: "RangeError", count: 1, newestAt: new Date(clock.now() - 1_000) },
        { ...group, type: "email.created", error: "TypeError", count: 1, newestAt: clock.date() },
      ],
      count: 5,
      isCut: false,
    });
  });

  test("counts jobs of every state without a filter, those without consumer and error too", async () => {
    const { receiver, clock } = await receiverWithJobsInEachState();
    const { groups, count } = await receiver.jobs.summary();
    expect(count).toBe(5);
    expect(groups[0]).toEqual({ consumer: "default", type: "email.updated", count: 2 });
    expect(groups).toContainEqual({ type: "contact.updated", count: 1, newestAt: clock.date() });
  });

  test("gives the hundred largest groups, and says that there are more", async () => {
    const { receiver, send } = await receiverWithErrors();
    const names = Array.from({ length: 100 }, (_, place) => `E${place}-1`);
    await send(mailBody(2002, [...names, "E7-2"]));
    await receiver.idle();
    expect(await receiver.jobs.summary()).toMatchObject({ count: 101, isCut: false });
    await send(mailBody(2002, ["E100-1"]));
    await receiver.idle();
    const cut = await receiver.jobs.summary();
    expect(cut).toMatchObject({ count: 102, isCut: true });
    expect(cut.groups).toHaveLength(100);
    expect(cut.groups[0]).toMatchObject({ error: "E7", count: 2 });
  });

  test("the name of the last error selects, for every verb", async () => {
    const { receiver, send } = await receiverWithErrors();
    await send(mailBody(2002, ["TypeError-1", "RangeError-2", "TypeError-3"]));
    await receiver.idle();
    const filter = { state: "dead", error: "TypeError" } as const;
    expect(await receiver.jobs.summary(filter)).toMatchObject({ count: 2, groups: [{ error: "TypeError" }] });
    const { jobs } = await receiver.jobs.list(filter);
    expect(jobs.map(({ event }) => idOf(event))).toEqual(["TypeError-1", "TypeError-3"]);
    expect(await receiver.jobs.replay(filter, { dryRun: true })).toEqual({ count: 2 });
    expect(await receiver.jobs.drop(filter)).toEqual({ count: 2 });
    expect(await receiver.jobs.summary()).toMatchObject({ count: 1, groups: [{ error: "RangeError" }] });
  });

  test.each([
    [{ state: "failed" }, 'jobs.summary() got state "failed"'],
    [{ error: 7 }, "error 7, expected the name of an error"],
    [{ limit: 7 }, 'the unknown field "limit"'],
  ])("refuses %j", async (filter, message) => {
    const { receiver } = rig();
    const refused: unknown = await receiver.jobs.summary(filter as object).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(UsageError);
    expect(refused).toMatchObject({ code: "jobs-invalid", message: expect.stringContaining(message) as string });
  });
});
