import fc from "fast-check";
import { expect, test } from "vitest";
import { SUSPECT_DEATHS } from "../../src/inbox/job-deaths.ts";
import { isDue, type Progress } from "../../src/inbox/job-state.ts";
import { createLaneQueues } from "../../src/inbox/lane-queues.ts";
import type { ClaimLimits, JobOutcome } from "../../src/inbox/port/claims.ts";
import { idsOf, laneRow, settleRows, type TestRow } from "../support/lane-rows.ts";

/** A lane as plainly as it can be said: an array, and whether it is free. */
interface PlainLane {
  rows: TestRow[];
  claimed: boolean;
  /** Its head was seen due: a clock that jumps back afterwards does not undo that. */
  ready: boolean;
}

class Plain {
  readonly lanes: PlainLane[] = [];
  readonly named = new Map<string, PlainLane>();

  append(row: TestRow, now: number): void {
    let lane = row.lane === undefined ? undefined : this.named.get(row.lane);
    if (lane === undefined) {
      lane = { rows: [], claimed: false, ready: false };
      this.lanes.push(lane);
      if (row.lane !== undefined) this.named.set(row.lane, lane);
    }
    lane.rows.push(row);
    if (!lane.claimed && lane.rows.length === 1) this.look(lane, now);
  }

  /** Every run that may be taken now. */
  runs(mergeMax: number, now: number): TestRow[][] {
    for (const lane of this.lanes) if (!lane.claimed && !lane.ready) this.look(lane, now);
    return this.lanes.filter((lane) => !lane.claimed && lane.ready).map(({ rows }) => runOf(rows, mergeMax));
  }

  laneOf(row: TestRow): PlainLane {
    return this.lanes.find(({ rows }) => rows.includes(row)) as PlainLane;
  }

  /** Rows that no longer wait leave; the lane is free. */
  give(run: readonly TestRow[], now: number): void {
    const lane = this.laneOf(run[0] as TestRow);
    lane.rows = lane.rows.filter((row) => !run.includes(row) || row.progress.state === "waiting");
    lane.claimed = false;
    this.look(lane, now);
  }

  remove(row: TestRow, now: number): void {
    const lane = this.laneOf(row);
    const first = lane.rows[0] === row;
    lane.rows = lane.rows.filter((other) => other !== row);
    if (first && !lane.claimed) this.look(lane, now);
  }

  /** Nothing waits in it, and nothing of it is taken. */
  isFree(lane: string): boolean {
    return this.named.get(lane)?.rows.length === 0 || !this.named.has(lane);
  }

  /** Over the head of a lane that is ready the process died once. */
  tried(): boolean {
    return this.lanes.some(({ rows: [head], claimed, ready }) => !claimed && ready && head?.progress.deaths === 1);
  }

  /** Heads of free lanes that wait for their time. */
  blocked(): TestRow[] {
    return this.lanes.flatMap(({ rows, claimed, ready }) => (claimed || ready ? [] : rows.slice(0, 1)));
  }

  look(lane: PlainLane, now: number): void {
    lane.ready = lane.rows[0] !== undefined && isDue(lane.rows[0].progress, now);
  }
}

function runOf([head, ...behind]: readonly TestRow[], mergeMax: number): TestRow[] {
  const run = [head as TestRow];
  const alone = (row: TestRow): boolean => row.mergeKey === undefined || isSuspect(row);
  if (alone(run[0] as TestRow)) return run;
  for (const row of behind) {
    if (run.length >= mergeMax || alone(row) || row.mergeKey !== head?.mergeKey) break;
    run.push(row);
  }
  return run;
}

function isSuspect({ progress }: TestRow): boolean {
  return progress.deaths >= SUSPECT_DEATHS;
}

/** All that there are, but for those that died once where they would not begin at once, and what waits with them. */
function assertOrder(
  runs: readonly TestRow[][],
  { max, slots, may }: { max: number; slots: number; may: readonly TestRow[][] },
): void {
  const tried = ([head]: readonly TestRow[]): boolean => head?.progress.deaths === 1;
  expect(runs.slice(slots).some(tried)).toBe(false);
  const taken = new Set(runs.map(([head]) => head));
  if (runs.length < slots || !may.some((run) => tried(run) && !taken.has(run[0])))
    expect(runs).toHaveLength(Math.min(max, may.length));
}

/** As many as may run together: none is in a greater group than it may be in, and one more would be. */
function assertGroup(runs: readonly TestRow[][], { max, may }: { max: number; may: readonly TestRow[][] }): void {
  const mostOf = ([head]: readonly TestRow[]): number => head?.progress.groupMax ?? Infinity;
  expect(runs.length).toBeLessThanOrEqual(Math.min(max, ...runs.map(mostOf)));
  const taken = new Set(runs.map(([head]) => head));
  const left = may.filter(([head]) => !taken.has(head));
  if (runs.length < max && left.length > 0)
    expect(Math.min(...runs.map(mostOf), ...left.map(mostOf))).toBeLessThanOrEqual(runs.length);
}

const LANES = ["a", "b", "c"] as const;
const error = { name: "Error", message: "no", at: 0 };
const outcome = fc.oneof(
  fc.constantFrom("done" as const, "dead" as const, "release" as const, "unhandled" as const),
  fc.nat(2_000),
);

function outcomeOf(kind: "done" | "dead" | "release" | "unhandled" | number, now: number): JobOutcome {
  if (typeof kind === "number") return { to: "retry", at: now + kind, delayMs: kind, counted: kind % 2 === 0, error };
  return kind === "dead" ? { to: kind, error } : { to: kind };
}

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      lane: fc.constantFrom(...LANES, undefined),
      key: fc.constantFrom("x", "x", "x", "y", undefined),
      died: fc.constantFrom<Partial<Progress>>(
        {},
        {},
        {},
        { deaths: 1 },
        { deaths: 2 },
        { deaths: 2, groupMax: 2 },
        { deaths: 2, groupMax: 1 },
      ),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      max: fc.nat(4),
      mergeMax: fc.integer({ min: 1, max: 4 }),
      slots: fc.nat(3),
      suspects: fc.nat(3).map((n) => n === 0),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ give: fc.nat(10), outcomes: fc.array(outcome, { minLength: 4, maxLength: 4 }) }),
  },
  { weight: 2, arbitrary: fc.record({ remove: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.record({ withdraw: fc.nat(4), unless: fc.constantFrom(...LANES, "none") }) },
  { weight: 3, arbitrary: fc.record({ pass: fc.nat(1_500) }) },
  { weight: 1, arbitrary: fc.record({ pass: fc.integer({ min: -5_000, max: 5_000 }) }) },
);

test("a lane book is what its plain specification is: one claim a lane, order stored, nothing lost, one merge key a run", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const book = createLaneQueues<TestRow>();
      const plain = new Plain();
      const taken: TestRow[][] = [];
      let waiting: TestRow[] = [];
      let now = 1_000_000;

      function take({ max, mergeMax, slots = max, suspects = false }: ClaimLimits): void {
        const [due, others] = [plain.runs(mergeMax, now), [] as TestRow[][]];
        const may: TestRow[][] = [];
        for (const run of due) (isSuspect(run[0] as TestRow) === suspects ? may : others).push(run);
        const runs = book.take({ max, mergeMax, slots, suspects }, now);
        expect(book.hasSuspects()).toBe(suspects ? may.length > runs.length : others.length > 0);
        if (suspects) assertGroup(runs, { max, may });
        else assertOrder(runs, { max, slots, may });
        expect(idsOf(may)).toEqual(expect.arrayContaining(idsOf(runs)));
        expect(new Set(runs.map(([head]) => head?.id)).size).toBe(runs.length);
        for (const run of runs) {
          const lane = plain.laneOf(run[0]);
          expect(lane.claimed).toBe(false);
          lane.claimed = true;
          lane.ready = false;
        }
        taken.push(...runs);
        waiting = waiting.filter((row) => !runs.flat().includes(row));
      }

      function give(run: TestRow[], outcomes: readonly JobOutcome[]): void {
        settleRows(run, outcomes, now);
        plain.give(run, now);
        book.release(run, now);
        waiting.push(...run.filter(({ progress }) => progress.state === "waiting"));
      }

      /** Lanes that wait for their time go, and come back at once. */
      function withdraw(jobs: number, unless: string): void {
        const may = plain.lanes.filter(({ rows: [head], claimed, ready }) => head !== undefined && !claimed && !ready);
        const lanes = book.withdraw(jobs, ({ key }) => key !== unless, now);
        for (const { key, rows } of lanes) {
          const lane = plain.laneOf(rows[0] as TestRow);
          expect([may.includes(lane), lane.rows, rows[0]?.lane, key === unless]).toEqual([true, rows, key, false]);
          lane.rows = [];
        }
        const count = lanes.reduce((sum, { rows }) => sum + rows.length, 0);
        if (count < jobs)
          expect(may.filter(({ rows: [head] }) => head !== undefined && head.lane !== unless)).toEqual([]);
        if (lanes.length > 1) expect(count - (lanes.at(-1)?.rows.length ?? 0)).toBeLessThan(jobs);
        for (const { rows } of lanes)
          for (const row of rows) {
            plain.append(row, now);
            book.append(row, now);
          }
      }

      for (const one of steps) {
        if ("pass" in one) {
          now += one.pass;
        } else if ("max" in one) {
          take(one);
        } else if ("give" in one) {
          const [run] = taken.splice(one.give % Math.max(taken.length, 1), 1);
          if (run !== undefined)
            give(
              run,
              one.outcomes.map((kind) => outcomeOf(kind, now)),
            );
        } else if ("remove" in one) {
          const row = waiting[one.remove];
          if (row === undefined) continue;
          waiting.splice(one.remove, 1);
          plain.remove(row, now);
          book.remove(row, now);
        } else if ("withdraw" in one) {
          withdraw(one.withdraw, one.unless);
        } else {
          const row = laneRow(one.lane, one.key, one.died);
          waiting.push(row);
          plain.append(row, now);
          book.append(row, now);
        }
        const blocked = plain.blocked();
        expect(book.blockedLanes()).toBe(blocked.length);
        for (const lane of LANES) expect(book.isFree(lane)).toBe(plain.isFree(lane));
        if (plain.lanes.every(({ ready, rows: [head] }) => ready || head === undefined || !isDue(head.progress, now)))
          expect(book.hasTried()).toBe(plain.tried());
        expect(book.nextDueAt()).toBe(
          blocked.length === 0 ? undefined : Math.min(...blocked.map(({ progress }) => progress.runAt)),
        );
      }

      // Nothing is lost: when all that is taken ends and all time has passed, every job comes.
      for (const run of taken.splice(0)) give(run, []);
      now += 1_000_000;
      const left = new Set(waiting);
      while (left.size > 0) {
        take({ max: 3, mergeMax: 2 });
        take({ max: 3, mergeMax: 2, suspects: true });
        expect(taken.length).toBeGreaterThan(0);
        for (const run of taken.splice(0)) {
          for (const row of run) expect(left.delete(row)).toBe(true);
          give(run, []);
        }
      }
      expect(book.take({ max: 10, mergeMax: 10 }, now)).toEqual([]);
    }),
    { numRuns: 1_000 },
  );
});

test("a lane that may not leave waits on as it did, though it is due by now", () => {
  const book = createLaneQueues<TestRow>();
  book.append(laneRow("a", undefined, { runAt: 2_000, delayMs: 1_000 }), 1_000);
  expect(book.withdraw(1, () => false, 5_000)).toEqual([]);
  expect(book.blockedLanes()).toBe(1);
  expect(book.take({ max: 1, mergeMax: 1 }, 5_000)).toHaveLength(1);
});
