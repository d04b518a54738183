import { beforeEach, describe, expect, test } from "vitest";
import { createClaimBook, type ClaimBook, type ClaimRecord } from "../../src/inbox/claim-book.ts";
import { become, type ClaimState } from "../../src/inbox/claim-state.ts";
import type { Claim, ClaimedJob, JobOutcome } from "../../src/inbox/port/claims.ts";
import { laneRow, type TestRow } from "../support/lane-rows.ts";

const T = 1_000_000;
const LATER = T + 60_000;
const done: JobOutcome = { to: "done" };
const error = { name: "Error", message: "no", at: T };
/** The retry window of the job was over: those behind it inherit it. */
const over: JobOutcome = { to: "dead", error, ofWindow: true };

let changed: TestRow[] = [];
let book: ClaimBook<TestRow>;

beforeEach(() => {
  changed = [];
  book = createClaimBook((row) => void changed.push(row));
});

function add(lane?: string, mergeKey?: string): TestRow {
  const row = laneRow(lane, mergeKey);
  book.append(row, T);
  return row;
}

function take(now = T): readonly ClaimRecord<TestRow>[] {
  return book.take({ max: 10, mergeMax: 10 }, now);
}

/** The one run that may be taken. */
function takeOne(now = T): ClaimRecord<TestRow> {
  const [run, ...others] = take(now);
  expect(others).toEqual([]);
  return run as ClaimRecord<TestRow>;
}

function toClaimed({ id }: TestRow): ClaimedJob {
  return { id: String(id) } as ClaimedJob;
}

function beginOne(now = T): Claim {
  return book.begin(takeOne(now), toClaimed, now) as Claim;
}

function settle(claim: Claim, ...outcomes: readonly JobOutcome[]): boolean {
  const plan = book.plan(claim, outcomes, T);
  return plan !== undefined && book.holds(plan, T);
}

describe("a claim", () => {
  test("is settled once, and then its lane goes on", () => {
    const [a, b] = [add("lane"), add("lane")];
    const claim = beginOne();
    expect([book.rowsOf(claim), book.running(), take()]).toEqual([[a], 1, []]);
    expect([settle(claim, done), settle(claim, done)]).toEqual([true, false]);
    expect([changed, book.rowsOf(claim), book.running()]).toEqual([[a], undefined, 0]);
    expect(takeOne().rows).toEqual([b]);
  });

  test("is the same object from the moment its jobs are taken, and has its jobs once it begins", () => {
    const row = add("lane");
    const run = takeOne();
    const claim = book.begin(run, toClaimed, T);
    expect(claim).toBe(run.claim);
    expect(claim).toEqual({ jobs: [{ id: String(row.id) }] });
  });

  test("may be shortened before it begins: what was cut waits behind it, but for what is gone", () => {
    const [a, b, c, d] = [add("lane", "x"), add("lane", "x"), add("lane", "x"), add("lane", "x")];
    const run = takeOne();
    book.remove(new Set([c]), T);
    book.shorten(run, 1, T);
    expect([run.rows, b.progress.state, b.progress.attempts, take()]).toEqual([[a], "waiting", 0, []]);
    expect(settle(book.begin(run, toClaimed, T) as Claim, done)).toBe(true);
    expect(takeOne().rows).toEqual([b, d]);
  });

  test("that is being settled is not settled a second time meanwhile", () => {
    add("lane");
    const claim = beginOne();
    const plan = book.plan(claim, [done], T);
    expect([book.plan(claim, [done], T), book.rowsOf(claim), book.running()]).toEqual([undefined, undefined, 1]);
    expect(book.holds(plan as ClaimRecord<TestRow>, T)).toBe(true);
  });

  test("keeps its lane closed while nobody knows whether its plan holds, and is settled again", () => {
    add("lane");
    const claim = beginOne();
    book.mayNotHold(book.plan(claim, [done], T) as ClaimRecord<TestRow>);
    expect(take()).toEqual([]);
    expect(settle(claim, done)).toBe(true);
  });

  test("whose jobs cannot be shown stays ahead, and is given back", () => {
    const row = add("lane");
    const run = takeOne();
    const fails = (): ClaimedJob => {
      throw new Error("no body");
    };
    expect(() => book.begin(run, fails, T)).toThrow("no body");
    expect([run.state, [...book.taken()]]).toEqual(["ahead", [row]]);
    book.giveBack(run, T);
    expect([changed, takeOne().rows]).toEqual([[row], [row]]);
  });

  test("does not begin when one of its jobs has gone; the others wait again, as if they had not been taken", () => {
    const [a, b] = [add("lane", "x"), add("lane", "x")];
    const run = takeOne();
    expect(book.remove(new Set([a]), T)).toEqual([]);
    expect(book.begin(run, toClaimed, T)).toBeUndefined();
    expect([changed, a.progress.state, b.progress.attempts]).toEqual([[a, b], "done", 0]);
    expect(takeOne().rows).toEqual([b]);
  });

  test("with fewer outcomes than jobs releases the others", () => {
    const [, b] = [add("lane", "x"), add("lane", "x")];
    expect(settle(beginOne(), done)).toBe(true);
    expect(takeOne().rows).toEqual([b]);
  });
});

describe("a claim that is lost", () => {
  test("is never settled: when its handler ends, its jobs wait again", () => {
    const row = add("lane");
    const claim = beginOne();
    expect([book.revoke(), book.revoke()]).toEqual([[claim], []]);
    expect([take(), book.running(), [...book.taken()]]).toEqual([[], 0, [row]]);
    expect(settle(claim, done)).toBe(false);
    expect(row.progress).toMatchObject({ state: "waiting", attempts: 0 });
    const again = beginOne();
    expect(settle(claim, done)).toBe(false);
    expect(take()).toEqual([]);
    expect(settle(again, done)).toBe(true);
  });

  test("with one job lets the other ones run on until its handler has ended", () => {
    const [a, b] = [add("lane", "x"), add("lane", "x")];
    const claim = beginOne();
    expect(book.remove(new Set([a]), T)).toEqual([claim]);
    expect([a.progress.state, b.progress.state, take()]).toEqual(["done", "running", []]);
    book.handlerEnded(claim, T);
    expect(takeOne().rows).toEqual([b]);
  });

  test("while its plan was written does not count, and its lane goes on", () => {
    const [a, b] = [add("lane"), add("lane")];
    const claim = beginOne();
    const plan = book.plan(claim, [done], T) as ClaimRecord<TestRow>;
    expect(book.revoke()).toEqual([]);
    expect(book.remove(new Set([a]), T)).toEqual([claim]);
    book.mayNotHold(plan);
    expect(plan.state).toBe("lost");
    expect(book.holds(plan, T)).toBe(false);
    expect(takeOne().rows).toEqual([b]);
  });
});

describe("the next tenure", () => {
  function goOn(): void {
    book.revoke();
    book = book.nextTenure((row) => void changed.push(row));
  }

  test("has no jobs, and the lanes of handlers that run on are closed in it until those have ended", () => {
    add("lane");
    const claim = beginOne();
    goOn();
    expect([book.isFree("lane"), book.running(), [...book.taken()]]).toEqual([false, 0, []]);
    const again = add("lane");
    const other = add("other");
    expect(takeOne().rows).toEqual([other]);
    goOn();
    const third = add("lane");
    expect(take()).toEqual([]);
    expect(settle(claim, done)).toBe(false);
    expect(takeOne().rows).toEqual([third]);
    expect([third, again].map(({ progress: { state } }) => state)).toEqual(["running", "waiting"]);
  });

  test("opens a lane for which nothing has come, and it is free", () => {
    add("lane");
    const claim = beginOne();
    goOn();
    book.handlerEnded(claim, T);
    expect(book.isFree("lane")).toBe(true);
  });

  test("does not wait for a claim that was not revoked: it has ended", () => {
    add("lane");
    const [first, claim] = [book, beginOne()];
    book = book.nextTenure(() => {});
    const row = add("lane");
    expect([settle(claim, done), first.plan(claim, [done], T), takeOne().rows]).toEqual([false, undefined, [row]]);
  });

  test("is told by the one before that a handler has ended", () => {
    add("lane");
    const [first, claim] = [book, beginOne()];
    goOn();
    const row = add("lane");
    first.handlerEnded(claim, T);
    expect(takeOne().rows).toEqual([row]);
  });

  test("begins nothing that was taken before it, and settles nothing", () => {
    add("lane");
    add("other");
    const [first, [run, other]] = [book, take() as [ClaimRecord<TestRow>, ClaimRecord<TestRow>]];
    const claim = first.begin(other, toClaimed, T) as Claim;
    goOn();
    expect([first.begin(run, toClaimed, T), first.plan(claim, [done], T)]).toEqual([undefined, undefined]);
    first.giveBack(run, T);
    expect(take()).toEqual([]);
  });

  test("leaves a plan of the one before to what the storage says", () => {
    const [first, claims] = [book, ["lane", "other"].map((lane) => add(lane) && beginOne())];
    const plans = claims.map((claim) => book.plan(claim, [done], T) as ClaimRecord<TestRow>);
    goOn();
    const [held, failed] = plans as [ClaimRecord<TestRow>, ClaimRecord<TestRow>];
    expect(first.holds(held, T)).toBe(true);
    first.mayNotHold(failed);
    expect([book.isFree("lane"), book.isFree("other")]).toEqual([true, true]);
    expect(first.plan(failed.claim, [done], T)).toBeUndefined();
  });
});

describe("the retry window of a lane", () => {
  test("is planned, and the lane has it once the plan holds", () => {
    const [a, b] = [add("lane"), add("lane")];
    const claim = beginOne();
    const plan = book.plan(claim, [over], LATER) as ClaimRecord<TestRow>;
    expect(plan.window).toEqual({ since: T, upTo: b.id });
    expect(a.queuedIn?.window).toBeUndefined();
    book.holds(plan, LATER);
    expect(b.queuedIn?.window).toEqual({ since: T, upTo: b.id });
  });

  test("ends with a job that is done", () => {
    const rows = [add("lane"), add("lane"), add("lane")];
    settle(beginOne(), over);
    const plan = book.plan(beginOne(LATER), [done], LATER) as ClaimRecord<TestRow>;
    expect(plan.window).toBeNull();
    book.holds(plan, LATER);
    expect(rows[2]?.queuedIn?.window).toBeUndefined();
  });

  test("holds for those of its jobs that are in the storage alone", () => {
    const row = add("lane");
    const asked: TestRow[] = [];
    book.setRest((first) => {
      asked.push(first);
      return [first.id + 1, first.id + 9];
    });
    const plan = book.plan(beginOne(), [over], LATER) as ClaimRecord<TestRow>;
    expect(plan.window).toEqual({ since: T, upTo: row.id + 9 });
    expect(new Set(asked)).toEqual(new Set([row]));
  });

  test("stays as it is where nothing waits behind the job, and where there is no lane", () => {
    for (const lane of ["lane", undefined]) {
      add(lane);
      const plan = book.plan(beginOne(), [over], T) as ClaimRecord<TestRow>;
      expect(plan.window).toBeUndefined();
      book.holds(plan, T);
    }
  });
});

test("a job that has ended is not changed when its row goes", () => {
  const row = add("lane");
  settle(beginOne(), { to: "dead", error });
  expect([book.remove(new Set([row]), T), changed, row.progress.state]).toEqual([[], [row], "dead"]);
});

describe("all claims end with their process", () => {
  test("what ran counts a death; what was gone or waits for a handler that is gone, too, holds up nothing", () => {
    const [a, b, c] = [add("lane"), add("other", "x"), add("other", "x")];
    const [, run] = take().map((one) => book.begin(one, toClaimed, T) as Claim);
    expect(book.remove(new Set([b]), T)).toEqual([run]);
    book.orphan(T);
    expect([a, c].map(({ progress: { state, deaths } }) => [state, deaths])).toEqual([
      ["waiting", 1],
      ["waiting", 1],
    ]);
    expect([...book.taken()]).toEqual([]);
    expect(take().map(({ rows }) => rows)).toEqual([[a], [c]]);
  });
});

test.each([
  ["ahead", "settling"],
  ["ahead", "lost"],
  ["running", "running"],
  ["running", "ended"],
  ["settling", "settling"],
  ["lost", "running"],
  ["lost", "settling"],
  ["ended", "running"],
  ["ended", "ended"],
] satisfies [ClaimState, ClaimState][])("a claim that is %s cannot become %s", (from, to) => {
  const record: { state: ClaimState } = { state: from };
  expect(() => become(record, to)).toThrow(`A claim that is ${from} cannot become ${to}.`);
  expect(record.state).toBe(from);
});
