import { beforeEach, describe, expect, test } from "vitest";
import { FRESH } from "../../src/inbox/job-state.ts";
import { createLaneQueues, type LaneQueues } from "../../src/inbox/lane-queues.ts";
import { windowAfter, windowStart } from "../../src/inbox/lane-window.ts";
import type { JobOutcome } from "../../src/inbox/port/claims.ts";
import { laneRow, type TestRow } from "../support/lane-rows.ts";

const T = 1_000_000;
const error = { name: "Error", message: "no", at: T };
const done: JobOutcome = { to: "done" };
const release: JobOutcome = { to: "release" };
const retry: JobOutcome = { to: "retry", at: T + 1, delayMs: 1, counted: true, error };
const dead: JobOutcome = { to: "dead", error };
const deadOfWindow: JobOutcome = { ...dead, ofWindow: true };

let book: LaneQueues<TestRow>;

beforeEach(() => {
  book = createLaneQueues<TestRow>();
});

/** Jobs of a lane whose first attempts were at these times; undefined: not tried yet. */
function jobs(lane: string | undefined, ...firstAttempts: readonly (number | undefined)[]): TestRow[] {
  return firstAttempts.map((firstAttemptAt) => {
    const row = laneRow(lane, "x", { ...FRESH, firstAttemptAt });
    book.append(row, T);
    return row;
  });
}

function idOf(row: TestRow | undefined): number {
  return row?.id ?? Number.NaN;
}

describe("the window of a job begins", () => {
  test("with its own first attempt, where its lane has no window or is none", () => {
    const starts = [...jobs("lane", T + 5), ...jobs(undefined, T + 7)].map(windowStart);
    expect(starts).toEqual([T + 5, T + 7]);
  });

  test("at the lane's window where that began earlier, up to the last job that inherits it", () => {
    const rows = jobs("lane", T + 5, T + 6, T - 9, T + 8);
    book.setWindow("lane", { since: T, upTo: idOf(rows[2]) });
    expect(rows.map(windowStart)).toEqual([T, T, T - 9, T + 8]);
  });

  test("with its own first attempt, whatever window was given to a lane without jobs", () => {
    const [row] = jobs("lane", T + 5);
    book.setWindow("other", { since: T, upTo: 1_000_000 });
    expect(book.isFree("other")).toBe(true);
    expect(windowStart(row as TestRow)).toBe(T + 5);
  });
});

describe("after a job that died because its window was over", () => {
  test("all that stand in its lane have the window that it had, and what comes later has its own", () => {
    const [first, ...behind] = jobs("lane", T, undefined, undefined);
    expect(windowAfter([first as TestRow], [deadOfWindow])).toEqual({ since: T, upTo: idOf(behind[1]) });
  });

  test("none has it where none is left", () => {
    const [first, second] = jobs("lane", T, undefined);
    book.remove(second as TestRow, T);
    expect(windowAfter([first as TestRow], [deadOfWindow])).toBeUndefined();
    expect(windowAfter(jobs("other", T), [deadOfWindow])).toBeUndefined();
  });

  test("the next has it whose predecessor was removed", () => {
    const [first, removed, last] = jobs("lane", T, undefined, undefined);
    book.remove(removed as TestRow, T);
    expect(windowAfter([first as TestRow], [deadOfWindow])).toEqual({ since: T, upTo: idOf(last) });
  });

  test("those of its own call have it that wait again, though nothing stands behind them", () => {
    for (const outcome of [retry, release]) {
      const run = jobs(outcome.to, T, T + 5);
      expect(windowAfter(run, [deadOfWindow, outcome])).toEqual({ since: T, upTo: idOf(run[1]) });
    }
    const run = jobs("short", T, T + 5);
    expect(windowAfter(run, [deadOfWindow])).toEqual({ since: T, upTo: idOf(run[1]) }); // without an outcome: released
  });

  test("those have it, too, that are in the storage alone, though nothing of the lane is left in memory", () => {
    const rest = () => [1_000_001, 1_000_005] as const;
    const [first, second] = jobs("lane", T, undefined) as [TestRow, TestRow];
    const window = { since: T, upTo: 1_000_005 };
    expect(windowAfter([first], [deadOfWindow], rest)).toEqual(window);
    book.setWindow("lane", window);
    expect(windowAfter([first, second], [dead, dead], rest)).toEqual(window);
    book.setWindow("lane", { since: T, upTo: second.id });
    expect(windowAfter([first, second], [dead, dead], rest)).toBeUndefined();
  });

  test("it is the oldest window of those that died together", () => {
    const [early, late, behind] = jobs("lane", T, T + 5, undefined);
    const both = [deadOfWindow, deadOfWindow];
    expect(windowAfter([early as TestRow, late as TestRow], both)).toEqual({ since: T, upTo: idOf(behind) });
    expect(windowAfter([late as TestRow, early as TestRow], both)).toEqual({ since: T, upTo: idOf(behind) });
  });

  test("there is none in what is no lane", () => {
    const [row] = jobs(undefined, T);
    expect(windowAfter([row as TestRow], [deadOfWindow])).toBeUndefined();
    expect(windowAfter([], [])).toBeUndefined();
  });
});

describe("an inherited window", () => {
  /** Three jobs, of which the first two inherit a window; another one comes later. */
  function inheriting() {
    const rows = jobs("lane", T + 5, T + 6, undefined) as [TestRow, TestRow, TestRow];
    const window = { since: T, upTo: rows[1].id };
    book.setWindow("lane", window);
    return { rows, window };
  }

  test.each([
    ["waits again", retry],
    ["is released", release],
    ["is dead for another reason", dead],
    ["is unhandled", { to: "unhandled" }],
    ["is dead because the window was over: it is not extended to what came later", deadOfWindow],
  ] satisfies [string, JobOutcome][])("stays while a job that inherits it is left, when one %s", (_, outcome) => {
    const { rows, window } = inheriting();
    expect(windowAfter([rows[0]], [outcome])).toEqual(window);
  });

  test("ends with the first job that is done, also for those behind it", () => {
    const { rows } = inheriting();
    expect(windowAfter([rows[0]], [done])).toBeUndefined();
    expect(windowAfter([rows[0], rows[1]], [retry, done])).toBeUndefined();
  });

  test("ends with the last job that inherits it", () => {
    const { rows } = inheriting();
    expect(windowAfter([rows[0], rows[1]], [dead, dead])).toBeUndefined();
    expect(windowAfter([rows[0], rows[1]], [dead, retry])).toBeDefined();
  });

  test("gives way to the window of a job that does not inherit it, or that began before it", () => {
    const { rows } = inheriting();
    const [, , later] = rows;
    later.progress = { ...later.progress, firstAttemptAt: T + 7 };
    const [last] = jobs("lane", undefined);
    expect(windowAfter([later], [deadOfWindow])).toEqual({ since: T + 7, upTo: idOf(last) });
    rows[0].progress = { ...rows[0].progress, firstAttemptAt: T - 1 };
    expect(windowAfter([rows[0]], [deadOfWindow])).toEqual({ since: T - 1, upTo: idOf(last) });
  });
});
