import { RetryLater, type Job } from "hookline";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { turns } from "../support/event-loop.ts";
import { emails, heldHandler, rig } from "../support/rig.ts";

beforeEach(() => {
  // The certain half of the jitter alone: 500 ms, 1 s, 2 s, ...
  const random = vi.spyOn(Math, "random").mockReturnValue(0);
  return () => random.mockRestore();
});

/** A job of record "a" that has failed so often, and one more of it that waits behind it. */
async function oldAndNew(failures: number, options: Parameters<typeof rig>[0] = {}) {
  const made = rig(options);
  const held = heldHandler();
  made.receiver.on("email", held.handler);
  await made.receiver.start();
  await made.send(emails("a"));
  await turns();
  for (let failed = 0; failed < failures; failed += 1) {
    held.last().fail();
    if (failed < failures - 1) await made.pass(600_000);
  }
  await turns();
  await made.send(emails("a"));
  return { ...made, ...held };
}

describe("a merged call", () => {
  test("waits the back-off of its oldest job", async () => {
    const { calls, last, pass } = await oldAndNew(4);
    await pass(4_000); // after the fourth failure
    expect(calls.map(({ ctx }) => [ctx.attempt, ctx.merged]).at(-1)).toEqual([5, 2]);
    last().fail();
    await pass(7_999);
    expect(calls).toHaveLength(5);
    await pass(1);
    expect(last().ctx).toMatchObject({ attempt: 6, merged: 2 });
  });

  test("has the times of its newest job", async () => {
    const { last, pass, send, clock } = await oldAndNew(1);
    const sentAt = new Date(clock.now() - 40_000);
    await send(emails("a"), { at: sentAt });
    await pass(500);
    expect(last().ctx).toMatchObject({ merged: 3, sentAt });
    expect(last().ctx.receivedAt.getTime()).toBe(clock.now() - 500);
  });

  test("that fails leaves each job its own time: the one that was tried for `retryForMs` is dead, the other goes on", async () => {
    const { calls, last, pass, inbox, receiver } = await oldAndNew(1, { retryForMs: 500 });
    const dead: Job[] = [];
    receiver.onDead((job) => dead.push(job));
    await pass(500);
    const [oldest] = (await inbox.jobs.find({ limit: 1 })).jobs;
    expect(last().ctx).toMatchObject({ attempt: 2, merged: 2, lastAttempt: false });
    last().fail();
    await turns();
    expect(inbox.stats()).toMatchObject({ dead: 1, waiting: 1 });
    expect(dead.map(({ id }) => id)).toEqual([oldest?.id]);
    await pass(1_000);
    expect(calls).toHaveLength(3);
    expect(last().ctx).toMatchObject({ attempt: 2, merged: 1, lastAttempt: true });
  });

  test("that asks for more time holds all of its jobs, and counts for none", async () => {
    const { calls, last, pass, receiver } = await oldAndNew(1, { attempts: 2 });
    await pass(500);
    last().fail(new RetryLater({ afterSeconds: 30 }));
    await pass(29_999);
    expect(calls).toHaveLength(2);
    await pass(1);
    expect(last().ctx).toMatchObject({ attempt: 2, merged: 2 });
    last().end();
    await receiver.idle();
    expect(receiver.stats()).toMatchObject({ succeeded: 2, dead: 0, failed: 1 });
  });

  test("is the last attempt when it is for all of its jobs", async () => {
    const { receiver, send } = rig({ attempts: 1 });
    const { handler, last } = heldHandler();
    receiver.on("email", handler);
    await send(emails("a", "a"));
    await receiver.start();
    await turns();
    expect(last().ctx).toMatchObject({ merged: 2, lastAttempt: true });
  });
});

describe("`.changes`", () => {
  test("takes no more than 1,000 in a call", async () => {
    const { receiver, send } = rig();
    const lengths: number[] = [];
    receiver.on("email.changes", (event, ctx) => lengths.push(event.changes.length, ctx.merged));
    await send(emails(...Array.from({ length: 1_000 }, (_, index) => `m-${index}`)));
    await send(emails("one more"));
    await receiver.start();
    await receiver.idle();
    expect(lengths).toEqual([1_000, 1_000, 1, 1]);
  });

  test("is of one account: two of them run beside each other", async () => {
    const { receiver, send } = rig();
    const { calls, handler } = heldHandler();
    receiver.on("email.changes", handler);
    await send(emails("a"));
    await send(emails("b").replace("2002", "2003"));
    await receiver.start();
    await turns();
    expect(calls.map(({ event, ctx }) => [event.accountId, ctx.merged])).toEqual([
      [2002, 1],
      [2003, 1],
    ]);
  });
});
