import { describe, expect, test } from "vitest";
import { FRESH, type Progress } from "../../src/inbox/job-state.ts";
import { createLaneQueues, type LaneRow } from "../../src/inbox/lane-queues.ts";
import { windowAfter } from "../../src/inbox/lane-window.ts";

const ROWS = 100_000;
const T = 1_000_000;

/** Counts every step from one row to the next, and every look at a row's progress. */
class CountedRow implements LaneRow {
  static steps = 0;
  readonly id = 0;
  readonly mergeKey = undefined;
  readonly lane: string;
  queuedIn: LaneRow["queuedIn"] = undefined;
  #next: LaneRow | undefined;
  #progress: Progress = FRESH;

  constructor(lane: string) {
    this.lane = lane;
  }

  get next(): LaneRow | undefined {
    CountedRow.steps += 1;
    return this.#next;
  }

  set next(row: LaneRow | undefined) {
    this.#next = row;
  }

  get progress(): Progress {
    CountedRow.steps += 1;
    return this.#progress;
  }

  set progress(progress: Progress) {
    this.#progress = progress;
  }
}

function filled(laneOf: (index: number) => string) {
  const book = createLaneQueues<CountedRow>();
  const rows = Array.from({ length: ROWS }, (_, index) => new CountedRow(laneOf(index)));
  CountedRow.steps = 0;
  for (const row of rows) book.append(row, T);
  const stepsOf = (run: () => void): number => {
    CountedRow.steps = 0;
    run();
    return CountedRow.steps;
  };
  return { book, rows, appended: CountedRow.steps, stepsOf };
}

describe("nothing scans a backlog of 100,000 jobs:", () => {
  test.each([
    ["one lane", () => "lane"],
    ["a lane each", (index: number) => `lane ${index}`],
    ["a hot lane beside cold ones", (index: number) => (index % 2 === 0 ? "hot" : `cold ${index}`)],
  ])("in %s, a job costs the same few steps to append, take and settle", (_, laneOf) => {
    const { book, appended, stepsOf } = filled(laneOf);
    expect(appended).toBeLessThan(ROWS * 3);
    for (let turn = 0; turn < 100; turn += 1) {
      const steps = stepsOf(() => {
        for (const run of book.take({ max: 10, mergeMax: 1_000 }, T)) {
          for (const row of run) row.progress = { ...FRESH, state: "done" };
          book.release(run, T);
        }
      });
      expect(steps).toBeLessThan(10 * 20);
    }
  });

  test("a window that is over is handed on to all that wait in a few steps", () => {
    const { book, stepsOf } = filled(() => "lane");
    const [run = []] = book.take({ max: 1, mergeMax: 1 }, T);
    const error = { name: "Error", message: "no", at: T };
    expect(stepsOf(() => windowAfter(run, [{ to: "dead", error, ofWindow: true }]))).toBeLessThan(10);
  });

  test("looking when the next one is due costs nothing while none waits for a time", () => {
    const { book, stepsOf } = filled((index) => `lane ${index}`);
    expect(stepsOf(() => book.nextDueAt())).toBe(0);
  });

  test("a retry costs no more steps the more lanes wait for theirs", () => {
    const { book, stepsOf } = filled((index) => `lane ${index}`);
    for (const [index, [row]] of book.take({ max: ROWS, mergeMax: 1 }, T).entries()) {
      if (row === undefined) continue;
      row.progress = { ...FRESH, runAt: T + 1_000 + index, delayMs: 1_000 + index };
      book.release([row], T);
    }
    expect(book.blockedLanes()).toBe(ROWS);
    for (let turn = 0; turn < 100; turn += 1) {
      const steps = stepsOf(() => {
        expect(book.take({ max: 10, mergeMax: 1 }, T + 1_000 + turn)).toHaveLength(1);
        book.nextDueAt();
      });
      expect(steps).toBeLessThan(50);
    }
  });

  test("lanes that wait, and may not leave, are not all looked at for one that is to", () => {
    const { book, stepsOf } = filled((index) => `lane ${index}`);
    for (const [row] of book.take({ max: ROWS, mergeMax: 1 }, T)) {
      if (row === undefined) continue;
      row.progress = { ...FRESH, runAt: T + 1_000, delayMs: 1_000 };
      book.release([row], T);
    }
    expect(stepsOf(() => expect(book.withdraw(10, () => false, T)).toEqual([]))).toBeLessThan(10 * 50);
    expect(book.blockedLanes()).toBe(ROWS);
  });

  test("removing all of them costs a few steps each, the whole lane behind its head included", () => {
    const { book, rows, stepsOf } = filled(() => "lane");
    expect(stepsOf(() => rows.toReversed().forEach((row) => book.remove(row, T)))).toBeLessThan(ROWS * 4);
    expect(book.take({ max: 1, mergeMax: 1 }, T)).toEqual([]);
  });
});
