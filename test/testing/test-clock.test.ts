import { createReceiver, memoryInbox, type Clock } from "hookline";
import { sample, signedDelivery, testClock } from "hookline/testing";
import { describe, expect, expectTypeOf, onTestFinished, test } from "vitest";
import { turns } from "../support/event-loop.ts";

const START = new Date("2026-05-06T07:08:09Z");

/** A clock with a way to set timers that note their name and when they fired. */
function noting() {
  const clock = testClock(START);
  const fired: [string, number][] = [];
  const set = (name: string, ms: number, then = (): void => {}) =>
    clock.setTimer(() => {
      fired.push([name, clock.now() - START.getTime()]);
      then();
    }, ms);
  return { clock, fired, set };
}

describe("a test clock", () => {
  test("stands still until it is advanced", async () => {
    const { clock, fired, set } = noting();
    expectTypeOf(clock).toExtend<Clock>();
    set("soon", 1);
    await turns();
    expect(clock.now()).toBe(START.getTime());
    expect(fired).toEqual([]);

    await clock.advance(250);
    expect(clock.now()).toBe(START.getTime() + 250);
  });

  test("begins at a fixed time where none is given", () => {
    expect(new Date(testClock().now())).toEqual(new Date("2026-01-02T03:04:05Z"));
  });

  test("fires timers in the order of their time, each at its own time, equal ones in the order of setting", async () => {
    const { clock, fired, set } = noting();
    set("third", 30);
    set("first", 10);
    set("second", 20);
    set("second again", 20);
    set("later", 31);
    await clock.advance(30);
    expect(fired).toEqual([
      ["first", 10],
      ["second", 20],
      ["second again", 20],
      ["third", 30],
    ]);
    await clock.advance(1);
    expect(fired.at(-1)).toEqual(["later", 31]);
  });

  test("fires timers that are set meanwhile", async () => {
    const { clock, fired, set } = noting();
    set("late", 1_000);
    set("tick", 100, () => void set("tock", 100, () => void set("too late", 900)));
    await clock.advance(1_000);
    expect(fired).toEqual([
      ["tick", 100],
      ["tock", 200],
      ["late", 1_000],
    ]);
  });

  test("fires what an asynchronous step sets before time goes on", async () => {
    const { clock, fired, set } = noting();
    set("first", 10, () => void Promise.resolve().then(() => set("second", 10)));
    set("third", 30);
    await clock.advance(30);
    expect(fired.map(([name]) => name)).toEqual(["first", "second", "third"]);
  });

  test("fires once, and at once where no time is to pass", async () => {
    const { clock, fired, set } = noting();
    set("now", 0);
    set("before", -5);
    await clock.advance(0);
    await clock.advance(10);
    expect(fired).toEqual([
      ["now", 0],
      ["before", 0],
    ]);
  });

  test("does not fire what was cleared, not even by the timer before", async () => {
    const { clock, fired, set } = noting();
    const cleared = set("cleared", 10);
    const next = set("next", 20);
    set("clears", 20, () => next.clear()).clear();
    set("clears next", 15, () => next.clear());
    cleared.clear();
    cleared.clear();
    await clock.advance(100);
    expect(fired).toEqual([["clears next", 15]]);
  });

  test("that two advance at once never goes backwards", async () => {
    const { clock, fired, set } = noting();
    set("hour", 3_600_000);
    set("minute", 60_000);
    const times: number[] = [];
    const watch = (): void => {
      times.push(clock.now());
      if (times.length < 100) setImmediate(watch);
    };
    watch();
    await Promise.all([clock.advance(3_600_000), clock.advance(0), clock.advance(60_000)]);
    expect(fired).toEqual([
      ["minute", 60_000],
      ["hour", 3_600_000],
    ]);
    expect(clock.now()).toBe(START.getTime() + 3_600_000);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });
});

test("the hours of a receiver's retries pass when the clock is advanced", async () => {
  const secret = "a signing secret";
  const clock = testClock();
  const receiver = createReceiver({ secret, inbox: memoryInbox(), clock, log: false, retryForMs: 6 * 3_600_000 });
  onTestFinished(() => void receiver.close({ drainMs: 0 }));
  const attempts: number[] = [];
  const dead: string[] = [];
  receiver.on("email.created", (_, ctx) => {
    attempts.push(clock.now());
    throw new Error(`no ${ctx.attempt}`);
  });
  receiver.onDead((job) => dead.push(String(job.lastError?.message)));
  await receiver.start();
  await receiver.receive(signedDelivery(sample("email.created"), { secret, at: new Date(clock.now()) }));
  await clock.advance(0);
  expect(attempts).toHaveLength(1);

  await clock.advance(1_000);
  expect(attempts).toHaveLength(2);
  await clock.advance(3 * 3_600_000);
  const halfWay = attempts.length;
  expect(halfWay).toBeGreaterThan(20);
  expect(dead).toEqual([]);

  await clock.advance(4 * 3_600_000);
  expect(attempts.length).toBeGreaterThan(halfWay);
  expect(dead).toEqual([`no ${attempts.length}`]);
  expect(receiver.stats()).toMatchObject({ failed: attempts.length, dead: 1 });
});
