import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createDueQueue } from "../../src/inbox/collections/due-queue.ts";
import { FRESH, isDue, type Progress } from "../../src/inbox/job-state.ts";

interface Item {
  progress: Progress | undefined;
}

/** Something that is due `delayMs` after `now`. */
function item(now: number, delayMs: number): Item {
  return { progress: { ...FRESH, runAt: now + delayMs, delayMs } };
}

function at({ progress }: Item): number {
  return progress?.runAt ?? 0;
}

const T = 1_000_000;

describe("what waits for a time", () => {
  test("comes out when it is due, soonest first", () => {
    const queue = createDueQueue<Item>(({ progress }) => progress);
    const items = [30, 10, 20].map((delayMs) => item(T, delayMs));
    for (const one of items) queue.push(one, at(one), T);
    expect(queue.next()).toBe(T + 10);
    expect(queue.due(T + 9)).toEqual([]);
    expect(queue.due(T + 20)).toEqual([items[1], items[2]]);
    expect(queue.next()).toBe(T + 30);
    expect(queue.due(T + 1_000)).toEqual([items[0]]);
    expect(queue.next()).toBeUndefined();
  });

  test("gives one that waits long, never the soonest before it is the last, and none that has left", () => {
    const queue = createDueQueue<Item>(({ progress }) => progress);
    const items = [10, 40, 20, 50, 30].map((delayMs) => item(T, delayMs));
    for (const one of items) queue.push(one, at(one), T);
    const [soonest, left] = items;
    if (left !== undefined) left.progress = undefined;
    const taken = [1, 2, 3, 4].map(() => queue.takeLate());
    expect(new Set(taken)).toEqual(new Set(items.filter((one) => one !== left)));
    expect(taken[3]).toBe(soonest);
    expect([queue.takeLate(), queue.next()]).toEqual([undefined, undefined]);
  });

  test("counts no more once it has left, or has another time", () => {
    const queue = createDueQueue<Item>(({ progress }) => progress);
    const [left, moved] = [item(T, 10), item(T, 20)];
    for (const one of [left, moved]) queue.push(one, at(one), T);
    left.progress = undefined;
    moved.progress = { ...FRESH, runAt: T + 500, delayMs: 500 };
    queue.push(moved, T + 500, T);
    expect(queue.next()).toBe(T + 500);
    expect(queue.due(T + 499)).toEqual([]);
    expect(queue.due(T + 500)).toEqual([moved]);
  });

  test("comes out at once when the wall clock jumped back by more than its delay still to go", () => {
    const queue = createDueQueue<Item>(({ progress }) => progress);
    const [short, long] = [item(T, 1_000), item(T, 600_000)];
    for (const one of [short, long]) queue.push(one, at(one), T);
    expect(queue.due(T)).toEqual([]);
    expect(queue.due(T - 1)).toEqual([short, long]);
  });

  test("comes out at once too when the clock jumped back after it was put in, to a time after the last look", () => {
    const queue = createDueQueue<Item>(({ progress }) => progress);
    expect(queue.due(T)).toEqual([]);
    const one = item(T + 30_000, 1_000);
    queue.push(one, at(one), T + 30_000);
    expect(queue.due(T + 5_000)).toEqual([one]);
  });

  test("is looked at as a whole only when the clock jumped back", () => {
    let looks = 0;
    const queue = createDueQueue<Item>(({ progress }) => {
      looks += 1;
      return progress;
    });
    for (let index = 0; index < 100_000; index += 1) {
      const one = item(T, 600_000 - index);
      queue.push(one, at(one), T);
    }
    looks = 0;
    for (let now = T; now < T + 1_000; now += 1) {
      queue.due(now);
      queue.next();
    }
    expect(looks).toBeLessThan(10_000);
  });

  test("comes out exactly as from a sorted array, whatever goes in and however the clock moves", () => {
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ push: fc.nat(1_000) }) },
      { weight: 4, arbitrary: fc.record({ pass: fc.nat(400) }) },
      { weight: 1, arbitrary: fc.record({ jump: fc.integer({ min: -2_000, max: 2_000 }) }) },
      { weight: 1, arbitrary: fc.record({ leave: fc.nat(20) }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const queue = createDueQueue<Item>(({ progress }) => progress);
        let waiting: Item[] = [];
        let now = T;
        for (const one of steps) {
          if ("push" in one) {
            const added = item(now, one.push);
            waiting.push(added);
            queue.push(added, at(added), now);
          } else if ("leave" in one) {
            const leaving = waiting[one.leave];
            if (leaving !== undefined) leaving.progress = undefined;
            waiting = waiting.filter((other) => other !== leaving);
          } else {
            now += "pass" in one ? one.pass : one.jump;
            const due = waiting.filter(({ progress }) => progress !== undefined && isDue(progress, now));
            const took = queue.due(now);
            expect(new Set(took)).toEqual(new Set(due));
            expect(took).toHaveLength(due.length);
            // In order, unless the clock jumped back: then all are due at once anyhow.
            if ("pass" in one) expect(took.map(at)).toEqual(took.map(at).toSorted((a, b) => a - b));
            waiting = waiting.filter((other) => !due.includes(other));
          }
          expect(queue.next()).toBe(waiting.length === 0 ? undefined : Math.min(...waiting.map(at)));
        }
      }),
      { numRuns: 500 },
    );
  });
});
