import { retryAfter, RetryLater } from "hookline";
import { describe, expect, test, vi } from "vitest";
import { turns } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { emails, failingHandler, heldHandler, rig } from "../support/rig.ts";

const DAY_MS = 86_400_000;

describe("the wait before a retry", () => {
  test.each([
    [0, 500, 1_000],
    [0.5, 750, 1_500],
    [0.999, 1_000, 1_999],
  ])("is half certain and half random: %d of it", async (share, first, second) => {
    const random = vi.spyOn(Math, "random").mockReturnValue(share);
    try {
      const { receiver, send, pass, clock } = rig();
      const times: number[] = [];
      receiver.on("email", () => {
        times.push(clock.now());
        throw new Error("no");
      });
      await receiver.start();
      await send();
      await pass(3_000);
      const [one = 0, two = 0, three = 0] = times;
      expect([two - one, three - two]).toEqual([first, second]);
    } finally {
      random.mockRestore();
    }
  });

  test("is drawn for each: what failed together does not come back together", async () => {
    const { receiver, send, pass, clock } = rig();
    const times = new Set<number>();
    receiver.on("email", (_event, ctx) => {
      if (ctx.attempt === 2) times.add(clock.now());
      throw new Error("no");
    });
    await receiver.start();
    await send(emails(...Array.from({ length: 10 }, (_, index) => `m-${index}`)));
    await pass(1_000);
    expect(times.size).toBeGreaterThan(1);
  });

  test("ends with the handler's own `retryForMs`, else the receiver's", async () => {
    const { receiver, send, pass, inbox } = rig({ retryForMs: 60_000 });
    receiver.on("email", failingHandler().handler);
    receiver.on("email", failingHandler().handler, { consumer: "patient", retryForMs: 3_600_000 });
    receiver.on("email", failingHandler().handler, { consumer: "once", retryForMs: 0 });
    await receiver.start();
    await send();
    const dead = async () =>
      (await inbox.jobs.find({ states: ["dead"], limit: 9 })).jobs.map(({ consumer }) => consumer);
    await pass();
    expect(await dead()).toEqual(["once"]);
    await pass(59_000);
    expect(await dead()).toEqual(["once"]);
    await pass(120_000);
    expect(await dead()).toEqual(["default", "once"]);
    await pass(2 * 3_600_000);
    expect(await dead()).toHaveLength(3);
  });
});

describe("RetryLater", () => {
  test.each([
    ["a time that is over", (now: number) => new RetryLater({ at: new Date(now - DAY_MS) })],
    ["no time at all", () => new RetryLater({ afterSeconds: 0 })],
    ["what `Retry-After: 0` says", () => retryAfter("0")],
  ])("of %s is no loop: it waits as long as after a first failure", async (_, later) => {
    const { receiver, send, pass, clock } = rig();
    const times: number[] = [];
    receiver.on("email", () => {
      times.push(clock.now());
      throw later(clock.now());
    });
    await receiver.start();
    await send();
    await pass(60_000);
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(500);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1_000);
  });

  test("is measured from when the handler ended, by the receiver's clock", async () => {
    const { receiver, send, pass, clock } = rig();
    const { calls, handler, last } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send();
    await pass();
    const error = new RetryLater({ at: new Date(clock.now() + 10_000) });
    await pass(4_000);
    last().fail(error);
    await pass(5_999);
    expect(calls).toHaveLength(1);
    await pass(1);
    expect(calls).toHaveLength(2);
  });

  test("beyond `retryForMs` is moved to its end, with a warning; there the last attempt decides", async () => {
    const { receiver, send, pass, inbox, log } = rig();
    const seen: boolean[] = [];
    receiver.on("email", (_event, ctx) => {
      seen.push(ctx.lastAttempt);
      throw retryAfter("999999999");
    });
    await receiver.start();
    await send();
    await pass(DAY_MS - 1);
    expect([seen, inbox.stats().dead]).toEqual([[false], 0]);
    expect(log.of("retry-later-beyond")).toHaveLength(1);
    await pass(1);
    expect([seen, inbox.stats().dead]).toEqual([[false, true], 1]);
  });

  test("may wait for longer than a timer can, where `retryForMs` allows it", async () => {
    const clock = fakeClock(undefined, () => turns(2)); // a wait looks at the clock each minute
    const { receiver, send, pass } = rig({ clock, retryForMs: 90 * DAY_MS });
    const { seen, handler } = failingHandler(new RetryLater({ afterMs: 26 * DAY_MS }));
    receiver.on("email", handler);
    await receiver.start();
    await send();
    await pass(26 * DAY_MS - 1);
    expect(seen).toHaveLength(1);
    await pass(1);
    expect(seen).toHaveLength(2);
  });
});

describe("a jump of the wall clock", () => {
  test.each([-365 * DAY_MS, 365 * DAY_MS])("of %d ms does not free what runs, nor end its time", async (jump) => {
    const { receiver, send, pass, clock, inbox } = rig({ timeoutMs: 1_000 });
    const { calls, handler, last } = heldHandler();
    receiver.on("email", handler, { merge: false });
    await receiver.start();
    await send(emails("a", "a"));
    await pass(500);
    clock.jump(jump);
    await pass(499);
    expect([calls.length, last().ctx.signal.aborted, inbox.stats().running]).toEqual([1, false, 1]);
    await pass(1);
    expect(last().ctx.signal.aborted).toBe(true);
    last().end();
    await pass();
    expect([calls.length, receiver.stats().succeeded]).toEqual([2, 1]);
  });

  test("ahead makes a retry due, and back by less than its wait lets it wait on", async () => {
    const { receiver, send, pass, clock } = rig();
    const { seen, handler } = failingHandler(new RetryLater({ afterSeconds: 600 }));
    receiver.on("email", handler);
    await receiver.start();
    await send();
    await pass(300_000);
    clock.jump(-100_000);
    await pass(300_000);
    expect(seen).toHaveLength(1);
    await pass(100_000);
    expect(seen).toHaveLength(2);
    clock.jump(DAY_MS - 700_000);
    await send(emails("other")); // anything that wakes it
    await pass();
    expect(seen.filter((id) => id === "m-1")).toHaveLength(3);
  });
});
