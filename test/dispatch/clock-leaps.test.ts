import { RetryLater } from "hookline";
import { describe, expect, test } from "vitest";
import { outcomesOf } from "../../src/dispatch/retries/retry-policy.ts";
import { createRetryTime } from "../../src/dispatch/retries/retry-clock.ts";
import { claimedJob } from "../support/claimed-job.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { emails, heldHandler, idOf, recordingHandler, rig } from "../support/rig.ts";

const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;

/** A receiver with a handler that always fails. */
async function failing() {
  const made = rig();
  const attempts: boolean[] = [];
  made.receiver.on("email", (_event, ctx) => {
    attempts.push(ctx.lastAttempt);
    throw new Error("no");
  });
  await made.receiver.start();
  return { ...made, attempts };
}

describe("a wall clock that was a year ahead at a job's first attempt", () => {
  test("does not make the job be retried for a year: its window begins with the next attempt", async () => {
    const { receiver, send, pass, clock, inbox } = await failing();
    clock.jump(YEAR_MS);
    await send(emails("a"));
    await pass();
    expect(receiver.stats().failed).toBe(1);
    clock.jump(-YEAR_MS);
    await pass(DAY_MS - 600_000);
    expect(inbox.stats()).toMatchObject({ waiting: 1, dead: 0 });
    await pass(1_800_000);
    expect(inbox.stats()).toMatchObject({ waiting: 0, dead: 1 });
  });

  test("and was set right while it ran leaves it its window", async () => {
    const { receiver, send, pass, clock, inbox } = rig();
    receiver.on("email", () => {
      clock.jump(-YEAR_MS);
      throw new Error("no");
    });
    await receiver.start();
    clock.jump(YEAR_MS);
    await send(emails("a"));
    await pass();
    expect(inbox.stats()).toMatchObject({ waiting: 1, dead: 0 });
  });
});

test("a wall clock that was decades behind for a minute, in which a job failed, leaves it its 24 hours", async () => {
  const { send, pass, clock, inbox } = await failing();
  await send(emails("a"));
  await pass(600_000);
  clock.jump(-50 * YEAR_MS);
  await pass(60_000);
  clock.jump(50 * YEAR_MS);
  await pass(DAY_MS - 1_800_000);
  expect(inbox.stats()).toMatchObject({ waiting: 1, dead: 0 });
  await pass(1_800_000);
  expect(inbox.stats()).toMatchObject({ waiting: 0, dead: 1 });
});

test.each([1, 2])(
  "a wall clock that was two days back for a moment, in which a job was claimed, does not kill it: with %i slots",
  async (concurrency) => {
    const { receiver, send, pass, clock } = rig({ concurrency });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    clock.jump(-2 * DAY_MS);
    await send(emails("a", "b"));
    await pass();
    clock.jump(2 * DAY_MS);
    calls[0]?.end();
    await pass();
    calls[1]?.fail(new Error("no"));
    await pass();
    expect((await receiver.health()).dead).toBe(0);
    await pass(1_000);
    expect(calls).toHaveLength(3);
  },
);

test.each(["a pause", "a delay of an account", "a retry"])(
  "%s of an hour that a machine sleeps through ends within a minute after it",
  async (what) => {
    const { receiver, send, pass, clock } = rig({ concurrency: 1 });
    const { seen, handler } = recordingHandler(() => {
      if (what !== "a pause" && seen.length === 1)
        throw new RetryLater({ afterSeconds: 3_600 }, { scope: what === "a retry" ? "job" : "account" });
    });
    receiver.on("email", handler);
    await receiver.start();
    const until = new Date(clock.now() + 3_600_000);
    if (what === "a pause") await receiver.flow.pause({ accountId: 2002 }, { reason: "import", until });
    await send(emails("a"));
    await pass(100);
    const before = seen.length;
    clock.jump(2 * 3_600_000);
    await pass(60_000);
    expect(seen).toHaveLength(before + 1);
  },
);

describe("a wall clock that leaps 25 hours ahead", () => {
  test("kills no job: it is retried until the clock is set right, and after it", async () => {
    const { send, pass, clock, inbox, attempts } = await failing();
    await send(emails("a"));
    await pass();
    clock.jump(25 * 3_600_000);
    await pass(10_000);
    expect(attempts.length).toBeGreaterThan(2);
    expect(attempts).not.toContain(true);
    clock.jump(-25 * 3_600_000);
    await pass(DAY_MS - 1_800_000);
    expect(inbox.stats()).toMatchObject({ waiting: 1, dead: 0 });
    await pass(3_600_000);
    expect(inbox.stats()).toMatchObject({ waiting: 0, dead: 1 });
  });

  test("and stays there is followed within half an hour: the window ends all the same", async () => {
    const { send, pass, clock, inbox } = await failing();
    await send(emails("a"));
    await pass();
    clock.jump(25 * 3_600_000);
    await pass(1_000_000);
    expect(inbox.stats()).toMatchObject({ waiting: 1, dead: 0 });
    await pass(1_800_000);
    expect(inbox.stats()).toMatchObject({ waiting: 0, dead: 1 });
  });
});

test("a leap right after a first attempt kills no job, where the clocks round otherwise by a millisecond", () => {
  const now = Date.parse("2026-05-06T07:08:09Z");
  const rules = { attempts: Infinity, retryForMs: DAY_MS, now: now + 2 * DAY_MS, retryTime: now - 1, random: 0 };
  const jobs = [claimedJob({ firstAttemptAt: now })];
  expect(outcomesOf(jobs, { ok: false, error: new Error("no") }, rules)).toMatchObject([{ to: "retry" }]);
});

describe("a wall clock that is set right by decades after the start, as on a machine without a battery for it", () => {
  test("ends the window of a job that came after it in time: its lane is not closed for a year", async () => {
    const { send, pass, clock, inbox, attempts } = await failing();
    clock.jump(50 * YEAR_MS);
    await send(emails("a"));
    await pass(DAY_MS - 600_000);
    expect(inbox.stats()).toMatchObject({ waiting: 1, dead: 0 });
    await pass(1_800_000);
    expect(inbox.stats()).toMatchObject({ waiting: 0, dead: 1 });
    expect(attempts.at(-1)).toBe(true);
  });
});

test("a wall clock that goes back six hours does not prolong the delay of an account by them", async () => {
  const { receiver, send, pass, clock } = rig({ concurrency: 1 });
  const seen: string[] = [];
  receiver.on("email", (event) => {
    seen.push(idOf(event));
    if (seen.length === 1) throw new RetryLater({ afterSeconds: 30 }, { scope: "account" });
  });
  await receiver.start();
  await send(emails("a", "b"));
  await pass(100);
  clock.jump(-6 * 3_600_000);
  await pass(30_000);
  expect(seen.toSorted()).toEqual(["a", "a", "b"]);
});

test("an account that asks for a delay once more after the clock went back waits for that one alone", async () => {
  const { receiver, send, pass, clock } = rig({ concurrency: 2 });
  const { calls, handler } = heldHandler();
  receiver.on("email", handler);
  await receiver.start();
  await send(emails("a", "b", "c"));
  await pass();
  const later = new RetryLater({ afterSeconds: 30 }, { scope: "account" });
  calls[0]?.fail(later);
  await pass();
  clock.jump(-6 * 3_600_000);
  calls[1]?.fail(later);
  await pass(29_999);
  expect(calls).toHaveLength(2);
  await pass(2);
  expect(calls).toHaveLength(4);
});

describe("the time of retry windows", () => {
  test("is the wall clock's while nobody sets that, also where time passes in small steps", async () => {
    const clock = fakeClock();
    const time = createRetryTime(clock);
    for (const ms of [0, 1, 999, 60_000, DAY_MS]) {
      await clock.advance(ms);
      expect(time()).toBe(clock.now());
    }
    clock.jump(900); // as clocks are set all the time
    expect(time()).toBe(clock.now());
  });

  test("follows a clock that was set ahead 60 times as fast as time passes", async () => {
    const clock = fakeClock();
    const time = createRetryTime(clock);
    clock.jump(3_600_000);
    expect(clock.now() - time()).toBe(3_600_000);
    await clock.advance(30_000);
    expect(clock.now() - time()).toBe(1_800_000);
    await clock.advance(30_000);
    expect(time()).toBe(clock.now());
  });

  test("goes back with a clock that is set back, and is never later than it", () => {
    const clock = fakeClock();
    const time = createRetryTime(clock);
    clock.jump(-3_600_000);
    expect(time()).toBe(clock.now());
    clock.jump(7_200_000);
    expect(clock.now() - time()).toBe(7_200_000);
    clock.jump(-3_600_000);
    expect(clock.now() - time()).toBe(3_600_000);
    clock.jump(-7_200_000);
    expect(time()).toBe(clock.now());
  });

  test("believes a clock that cannot show that it was set", () => {
    const { now, setTimer, jump } = fakeClock();
    const time = createRetryTime({ now, setTimer });
    for (const ms of [DAY_MS, -2 * DAY_MS, DAY_MS]) {
      jump(ms);
      expect(time()).toBe(now());
    }
  });
});
