import { beforeEach, describe, expect, test } from "vitest";
import type { Progress } from "../../src/inbox/job-state.ts";
import { createLaneQueues, type LaneQueues } from "../../src/inbox/lane-queues.ts";
import type { JobOutcome } from "../../src/inbox/port/claims.ts";
import { idsOf, laneRow, settleRows, type TestRow } from "../support/lane-rows.ts";

const T = 1_000_000;
const done: JobOutcome = { to: "done" };
const release: JobOutcome = { to: "release" };
const error = { name: "Error", message: "no", at: T };

function retry(delayMs: number, now = T): JobOutcome {
  return { to: "retry", at: now + delayMs, delayMs, counted: true, error };
}

let book: LaneQueues<TestRow>;

beforeEach(() => {
  book = createLaneQueues<TestRow>();
});

function add(lane: string | undefined, mergeKey?: string, died?: Partial<Progress>): TestRow {
  const row = laneRow(lane, mergeKey, died);
  book.append(row, T);
  return row;
}

function take(max = 10, mergeMax = 10, now = T): TestRow[][] {
  return book.take({ max, mergeMax }, now);
}

/** Takes the one run that is free, and settles it. */
function settleNext(outcomes: readonly JobOutcome[], now = T): TestRow[] {
  const [run = [], ...others] = take(10, 10, now);
  expect(others).toEqual([]);
  settleRows(run, outcomes, now);
  book.release(run, now);
  return run;
}

describe("a lane", () => {
  test("gives its jobs in order, one at a time", () => {
    const [a, b, c] = [add("lane"), add("lane"), add("lane")];
    const [run = []] = take();
    expect(run).toEqual([a]);
    expect(take()).toEqual([]);
    settleRows(run, [done], T);
    book.release(run, T);
    expect([settleNext([done]), settleNext([done]), take()]).toEqual([[b], [c], []]);
  });

  test("does not hold up another one", () => {
    const [a, b] = [add("one"), add("other")];
    expect(take()).toEqual([[a], [b]]);
  });

  test("takes its turn behind those that were ready before it", () => {
    const [a, b, c] = [add("one"), add("other"), add("one")];
    settleNextOf(take(1));
    expect(take(1)).toEqual([[b]]);
    expect(take(1)).toEqual([[c]]);
    expect(a.queuedIn).toBeUndefined();
  });

  test("is closed while its head waits for its retry, whatever comes behind it", () => {
    const [a, b] = [add("lane"), add("lane")];
    settleNext([retry(1_000)]);
    add("lane");
    expect(take(10, 10, T + 999)).toEqual([]);
    expect([book.nextDueAt(), book.blockedLanes()]).toEqual([T + 1_000, 1]);
    expect(settleNext([done], T + 1_000)).toEqual([a]);
    expect([book.nextDueAt(), book.blockedLanes()]).toEqual([undefined, 0]);
    expect(settleNext([done], T + 1_000)).toEqual([b]);
  });

  test("is forgotten when it is empty, and begins anew", () => {
    add("lane");
    expect(book.isFree("lane")).toBe(false);
    const [run = []] = take();
    expect(book.isFree("lane")).toBe(false);
    settleRows(run, [done], T);
    book.release(run, T);
    expect(book.isFree("lane")).toBe(true);
    const again = add("lane");
    expect(take()).toEqual([[again]]);
  });

  test("that waits for its retry when it is loaded is not taken before it is due", () => {
    const row = laneRow("lane");
    settleRows([row], [retry(5_000)], T);
    book.append(row, T + 1);
    expect(take(10, 10, T + 4_999)).toEqual([]);
    expect(book.nextDueAt()).toBe(T + 5_000);
    expect(take(10, 10, T + 5_000)).toEqual([[row]]);
  });

  test("jobs without a lane wait for nothing but themselves", () => {
    const rows = [add(undefined, "key"), add(undefined, "key"), add(undefined)];
    expect(take()).toEqual(rows.map((row) => [row]));
  });
});

describe("the clock jumping back", () => {
  test("does not freeze a retry", () => {
    add("lane");
    settleNext([retry(60_000)]);
    expect(take(10, 10, T + 1)).toEqual([]);
    expect(take(10, 10, T - 3_600_000)).toHaveLength(1);
  });

  test("does not freeze a retry that was written just before it", () => {
    const row = add("lane");
    const [run = []] = take();
    settleRows(run, [retry(1_000, T + 30_000)], T + 30_000);
    book.release(run, T + 30_000);
    expect(take(10, 10, T + 5_000)).toEqual([[row]]);
  });
});

describe("a run", () => {
  test("is the head and the unbroken row behind it with the same merge key", () => {
    const [a, b] = [add("lane", "x"), add("lane", "x")];
    const other = add("lane", "y");
    const last = add("lane", "x");
    expect([settleNext([done, done]), settleNext([done]), settleNext([done])]).toEqual([[a, b], [other], [last]]);
  });

  test("has no more than mergeMax jobs", () => {
    const rows = Array.from({ length: 5 }, () => add("lane", "x"));
    expect(idsOf(take(10, 3))).toEqual([rows.slice(0, 3).map(({ id }) => id)]);
  });

  test("never reaches into another lane", () => {
    const [a, b] = [add("one", "x"), add("other", "x")];
    expect(take()).toEqual([[a], [b]]);
  });

  test("of jobs that do not merge is one job", () => {
    const [a] = [add("lane"), add("lane")];
    expect(take()).toEqual([[a]]);
  });

  test("takes along what came while its head was waiting for a retry", () => {
    const a = add("lane", "x");
    settleNext([retry(1_000)]);
    const b = add("lane", "x");
    expect(take(10, 10, T + 1_000)).toEqual([[a, b]]);
  });

  test("does not grow once it is taken: what comes is the next run", () => {
    const a = add("lane", "x");
    const [run = []] = take();
    const b = add("lane", "x");
    expect(run).toEqual([a]);
    settleRows(run, [done], T);
    book.release(run, T);
    expect(take()).toEqual([[b]]);
  });

  test("leaves out a suspect, which comes alone and only when it is asked for, and what stands behind it", () => {
    const [a, suspect, b] = [add("lane", "x"), add("lane", "x", { deaths: 2 }), add("lane", "x")];
    const c = add("other", "x");
    expect(book.hasSuspects()).toBe(false);
    settleNextOf(take(1));
    expect(a.progress.state).toBe("done");
    expect(take()).toEqual([[c]]);
    expect(book.hasSuspects()).toBe(true);
    const [run = []] = book.take({ max: 10, mergeMax: 10, suspects: true }, T);
    expect(run).toEqual([suspect]);
    expect(book.hasSuspects()).toBe(false);
    settleRows(run, [done], T);
    book.release(run, T);
    expect(take()).toEqual([[b]]);
  });

  test.each([
    ["all wait again", [retry(0), release, retry(0)], [0, 1, 2]],
    ["the first ended", [done, release, release], [1, 2]],
    ["the middle ended", [release, done, release], [0, 2]],
    ["the last ended", [release, release, done], [0, 1]],
    ["one is left", [done, { to: "dead", error }, release], [2]],
    ["none is left", [{ to: "unhandled" }, done, { to: "dead", error }], []],
  ] satisfies [string, JobOutcome[], number[]][])(
    "keeps what still waits in front and in order, when %s",
    (_, outcomes, left) => {
      const rows = [add("lane", "x"), add("lane", "x"), add("lane", "x")];
      const [run = []] = take(10, 3);
      const late = add("lane", "x");
      settleRows(run, outcomes, T);
      book.release(run, T);
      const later = add("lane", "x");
      expect(take()).toEqual([[...left.map((index) => rows[index]), late, later]]);
    },
  );
});

describe("suspects", () => {
  function addSuspects(...groupMax: readonly (number | undefined)[]): TestRow[] {
    return groupMax.map((most) => add(undefined, "x", { deaths: 2, groupMax: most }));
  }

  function takeGroup(max = 10): TestRow[] {
    return book.take({ max, mergeMax: 10, suspects: true }, T).flat();
  }

  test("come together, as many as are asked for", () => {
    const [a, b, c] = addSuspects(undefined, undefined, undefined);
    expect([takeGroup(2), takeGroup(2), takeGroup(2)]).toEqual([[a, b], [c], []]);
  });

  test("come in no greater group than each of them may be in", () => {
    const [a, b, c, d, e, f] = addSuspects(undefined, 3, undefined, 2, 3, 1);
    expect([takeGroup(), takeGroup(), takeGroup(), takeGroup()]).toEqual([[a, b, c], [d, e], [f], []]);
  });

  test("leave a lane of which the suspect was removed", () => {
    const suspect = add("lane", "x", { deaths: 2 });
    const next = add("lane");
    book.remove(suspect, T);
    expect([takeGroup(), take()]).toEqual([[], [[next]]]);
  });
});

describe("a job over which a process died once", () => {
  function takeInto(slots: number): TestRow[] {
    return book.take({ max: 10, mergeMax: 10, slots }, T).flat();
  }

  test("is taken only where it begins at once, in its order", () => {
    const [a, b, c, d] = [add("a"), add("b", "x", { deaths: 1 }), add("c", "x", { deaths: 1 }), add("d")];
    expect(takeInto(1)).toEqual([a]);
    expect(takeInto(0)).toEqual([]);
    expect(takeInto(1)).toEqual([b]);
    expect(takeInto(1)).toEqual([c, d]);
  });

  test("is told of as long as others may have to wait with it", () => {
    expect(book.hasTried()).toBe(false);
    add("lane");
    add("lane", undefined, { deaths: 1 });
    add("later", undefined, { deaths: 1, runAt: T + 1_000, delayMs: 1_000 });
    expect(book.hasTried()).toBe(false);
    settleNext([done]);
    expect(book.hasTried()).toBe(true);
    settleNext([done]);
    expect(book.hasTried()).toBe(false);
  });
});

describe("a job that is removed", () => {
  test("is not taken, and lets the next one come forward", () => {
    const [a, b] = [add("lane"), add("lane")];
    book.remove(a, T);
    expect(take()).toEqual([[b]]);
  });

  test("frees its lane when it was waiting for its retry", () => {
    const [a, b] = [add("lane"), add("lane")];
    settleNext([retry(60_000)]);
    book.remove(a, T);
    expect([book.blockedLanes(), book.nextDueAt()]).toEqual([0, undefined]);
    expect(take()).toEqual([[b]]);
  });

  test("in the middle or at the end leaves the others in order, also those that come later", () => {
    const [a, b, c, d] = [add("lane", "x"), add("lane", "x"), add("lane", "x"), add("lane", "x")];
    book.remove(b, T);
    book.remove(d, T);
    const e = add("lane", "x");
    expect(take()).toEqual([[a, c, e]]);
  });

  test("behind a taken one is gone when that comes back, and what came after it is not", () => {
    const [a, b] = [add("lane", "x"), add("lane", "y")];
    const [run = []] = take();
    book.remove(b, T);
    const c = add("lane", "x");
    settleRows(run, [release], T);
    book.release(run, T);
    expect(take()).toEqual([[a, c]]);
  });

  test("may be the last of its lane: the lane is empty then", () => {
    const a = add("lane");
    book.remove(a, T);
    expect(book.isFree("lane")).toBe(true);
    expect(take()).toEqual([]);
    expect(take()).toEqual([]);
    const b = add("lane");
    expect(take()).toEqual([[b]]);
  });
});

function settleNextOf(runs: readonly TestRow[][]): void {
  for (const run of runs) {
    settleRows(run, [done], T);
    book.release(run, T);
  }
}
