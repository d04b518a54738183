import { memoryInbox, type Context, type Job } from "hookline";
import { describe, expect, test } from "vitest";
import { turns, until } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { idsAndStates, receiverWithDeadJobs, receiverWithJobsInEachState } from "../support/job-fixtures.ts";
import { bookingBody, tracked, trackingBody } from "../support/make-delivery.ts";
import { emails, heldHandler, rig } from "../support/rig.ts";

describe("replay", () => {
  test("makes a new job for a dead one, which goes", async () => {
    const { receiver, seen } = await receiverWithDeadJobs(["a"]);
    const [dead] = (await receiver.jobs.list()).jobs;
    expect(await receiver.jobs.replay(dead?.id ?? "")).toEqual({ count: 1 });
    expect(await receiver.jobs.get(dead?.id ?? "")).toBe(undefined);
    await receiver.idle();
    expect(seen).toEqual(["a"]);
    expect((await receiver.jobs.list()).jobs).toEqual([]);
  });

  test("puts it at the tail of its lane, as a replay with a key and attempts of its own", async () => {
    const { receiver, send } = rig({ attempts: 1 });
    const calls: { readonly id: string; readonly ctx: Context }[] = [];
    const held = heldHandler();
    let failing = true;
    receiver.on(
      "email",
      (event, ctx) => {
        calls.push({ id: event.id, ctx });
        if (failing) throw new Error("no");
        return held.handler(event, ctx);
      },
      { lane: "account" },
    );
    await receiver.start();
    await send(emails("a"));
    await receiver.idle();
    failing = false;
    await send(emails("b", "c"));
    const [dead] = (await receiver.jobs.list({ state: "dead" })).jobs;
    await receiver.jobs.replay([dead?.id ?? ""]);
    const [again] = (await receiver.jobs.list()).jobs.toReversed();
    expect(again).toMatchObject({
      state: "waiting",
      replayOf: dead?.id,
      lane: dead?.lane,
      deliveryId: dead?.deliveryId,
    });
    await send(emails("d"));
    for (let ended = 0; ended < 4; ended += 1) {
      await until(() => held.calls.length > ended);
      held.calls[ended]?.end();
    }
    await receiver.idle();
    expect(calls.map(({ id }) => id)).toEqual(["a", "b", "c", "a", "d"]);
    const [first, , , replayed] = calls.map(({ ctx }) => ctx);
    expect(replayed).toMatchObject({ replayOf: dead?.id, jobId: again?.id, attempt: 1, receivedAt: first?.receivedAt });
    expect(replayed?.idempotencyKey).not.toBe(first?.idempotencyKey);
    expect(calls[1]?.ctx).not.toHaveProperty("replayOf");
  });

  test("never merges with fresh jobs, only with replays", async () => {
    const { receiver, send } = rig({ attempts: 1 });
    const held = heldHandler();
    receiver.on("email", held.handler);
    await receiver.start();
    const turn = async (count: number): Promise<void> => until(() => held.calls.length === count);
    for (let dead = 1; dead <= 2; dead += 1) {
      await send(emails("a"));
      await turn(dead);
      held.last().fail();
      await receiver.idle();
    }
    await send(emails("a"));
    await turn(3);
    await send(emails("a"));
    expect(await receiver.jobs.replay({ state: "dead" })).toEqual({ count: 2 });
    await send(emails("a"));
    for (let ended = 3; ended < 6; ended += 1) {
      held.last().end();
      await turn(ended + 1);
    }
    held.last().end();
    await receiver.idle();
    const [, , ...calls] = held.calls.map(({ ctx }) => [ctx.merged, ctx.replayOf === undefined ? "fresh" : "again"]);
    expect(calls).toEqual([
      [1, "fresh"],
      [1, "fresh"],
      [2, "again"],
      [1, "fresh"],
    ]);
  });

  test("ignores the dedupe window of tracking and bookings", async () => {
    const { receiver, send } = rig({ attempts: 1 });
    const seen: string[] = [];
    let failing = true;
    receiver.on(["tracking", "booking"], (event, ctx) => {
      if (failing) throw new Error("no");
      seen.push(`${event.type} ${ctx.replayOf === undefined ? "fresh" : "again"}`);
    });
    await receiver.start();
    await send(trackingBody(tracked(3)));
    await send(bookingBody("e-1"));
    await receiver.idle();
    failing = false;
    await send(trackingBody(tracked(3)));
    await send(bookingBody("e-1"));
    await receiver.idle();
    expect(seen).toEqual([]);
    expect(await receiver.jobs.replay({ state: "dead" })).toEqual({ count: 2 });
    await receiver.idle();
    expect(seen).toEqual(["tracking.open again", "booking again"]);
  });

  test("takes dead jobs, and leaves those that wait, run, or have no consumer", async () => {
    const { receiver } = await receiverWithJobsInEachState();
    const { jobs } = await receiver.jobs.list();
    expect(
      await receiver.jobs.replay({ state: ["dead", "running", "waiting", "unhandled", "done", "skipped"] }),
    ).toEqual({
      count: 1,
    });
    expect(await receiver.jobs.replay([...jobs, ...jobs].map(({ id }) => id))).toEqual({ count: 0 });
    expect(idsAndStates((await receiver.jobs.list()).jobs)).toEqual([
      ["running", "running"],
      ["behind", "waiting"],
      ["retried", "waiting"],
      ["nobody's", "unhandled"],
      ["dead", "dead"], // anew
    ]);
  });

  test("takes an unhandled job whose consumer lost its handler", async () => {
    const shared = { inbox: memoryInbox(), clock: fakeClock() };
    const before = rig(shared);
    before.receiver.on("email", () => Promise.reject(new Error("no")));
    await before.receiver.start();
    await before.send(emails("a"));
    await turns();
    await before.receiver.close();
    const after = rig(shared);
    after.receiver.on("contact", () => {});
    await after.receiver.start();
    await after.pass(60_000);
    expect(idsAndStates((await after.receiver.jobs.list()).jobs)).toEqual([["a", "unhandled"]]);
    expect(await after.receiver.jobs.replay({ state: "unhandled" }, { dryRun: true })).toEqual({ count: 1 });
    expect(await after.receiver.jobs.replay({ state: "unhandled" })).toEqual({ count: 1 });
  });

  test("of ids counts each job once, and what is not there not at all", async () => {
    const { receiver } = await receiverWithDeadJobs(["a", "b"]);
    const ids = (await receiver.jobs.list()).jobs.map(({ id }) => id);
    const twice = [...ids, ...ids, "999999", "", "no-id"];
    expect(await receiver.jobs.replay(twice, { dryRun: true })).toEqual({ count: 2 });
    expect(await receiver.jobs.replay(twice)).toEqual({ count: 2 });
    expect(await receiver.jobs.replay([])).toEqual({ count: 0 });
  });

  test("of a filter takes what it names", async () => {
    const { receiver, log } = await receiverWithDeadJobs(["a", "b"]);
    const selection = { state: "dead", type: "email", accountId: 2002, consumer: "default" } as const;
    expect(await receiver.jobs.replay({ ...selection, accountId: 7 })).toEqual({ count: 0 });
    expect(await receiver.jobs.replay({ ...selection, subscription: 7 })).toEqual({ count: 0 });
    expect(await receiver.jobs.replay({ ...selection, type: "contact" })).toEqual({ count: 0 });
    expect(await receiver.jobs.replay(selection)).toEqual({ count: 2 });
    expect(log.of("jobs-replayed").at(-1)).toMatchObject({ level: "info", facts: { count: 2 } });
  });

  test("remembers the first job where a replay is replayed", async () => {
    const { receiver, failFrom } = await receiverWithDeadJobs(["a"]);
    failFrom();
    const [first] = (await receiver.jobs.list()).jobs;
    for (let times = 0; times < 2; times += 1) {
      await receiver.jobs.replay({ state: "dead" });
      await receiver.idle();
    }
    expect((await receiver.jobs.list()).jobs).toMatchObject([{ state: "dead", replayOf: first?.id, attempts: 1 }]);
  });
});

test("observers see a replayed job as a replay", async () => {
  const { receiver, failFrom } = await receiverWithDeadJobs(["a"]);
  const told: Job[] = [];
  receiver.onDead((job) => told.push(job));
  failFrom();
  const [first] = (await receiver.jobs.list()).jobs;
  await receiver.jobs.replay({ state: "dead" });
  await receiver.idle();
  expect(told).toMatchObject([{ replayOf: first?.id }]);
});
