import fc from "fast-check";
import { expect, test } from "vitest";
import { createLanes, type Lanes } from "../../../adapters/inbox/sqlite/work/lanes.ts";
import { fromLoaded, type Row } from "../../../adapters/inbox/sqlite/work/row-encoding.ts";
import type { JobOutcome } from "../../../src/inbox/port/claims.ts";
import type { ClaimRecord } from "../../../src/inbox/claim-book.ts";
import type { LoadedJob, ProgressRecord } from "../../../adapters/inbox/sqlite/thread/records.ts";

const T = 1_000_000_000;

/** The table of a file: open jobs by their ids, of which some are in lanes. */
class World {
  readonly file = new Map<number, { readonly lane: string | undefined; progress: ProgressRecord | null }>();
  readonly running: ClaimRecord<Row>[] = [];
  lanes: Lanes;
  /** Gives what is being read. */
  answer: (() => void) | undefined;
  coming: Promise<boolean> | undefined;
  now = T;
  last = 0;

  constructor(maxJobs: number) {
    this.lanes = createLanes(maxJobs);
  }

  rowOf(id: number): Row {
    const { lane = null, progress = null } = this.file.get(id) ?? {};
    const job: LoadedJob = [id, 1, 0, "default", lane, null, id, null, progress];
    return fromLoaded(job);
  }

  add(lane: string | undefined): void {
    this.last += 1;
    this.file.set(this.last, { lane, progress: null });
    this.lanes.append(this.rowOf(this.last), this.now);
  }

  /** Asks for what is due; it comes back with `answered`, as it is in the file by then. */
  read(): boolean {
    const read = (ids: readonly number[]): Promise<readonly Row[]> =>
      new Promise((resolve) => {
        this.answer = () => {
          const there = ids.filter((id) => this.file.has(id)).toSorted((a, b) => a - b);
          resolve(there.map((id) => this.rowOf(id)));
        };
      });
    this.coming = this.lanes.bringBack(read, () => this.now);
    return this.answer !== undefined;
  }

  async answered(): Promise<void> {
    this.answer?.();
    if (this.answer !== undefined) await this.coming;
    this.answer = undefined;
  }

  take(max: number): number {
    const runs = this.lanes.take({ max, mergeMax: 1 }, this.now);
    for (const { rows } of runs) {
      const [{ id, lane } = { id: 0, lane: undefined }] = rows;
      if (lane === undefined) continue;
      const before = [...this.file].filter(([other, job]) => job.lane === lane && other < id);
      expect(before).toEqual([]);
      expect(this.running.some((run) => run.rows[0]?.lane === lane)).toBe(false);
    }
    for (const run of runs) if (this.lanes.begin(run, () => DELIVERY, this.now) !== undefined) this.running.push(run);
    return runs.length;
  }

  settle(place: number, retryMs: number | undefined): void {
    const [run] = this.running.splice(place % Math.max(this.running.length, 1), 1);
    if (run === undefined) return;
    const error = { name: "Error", message: "no", at: this.now };
    const outcome: JobOutcome =
      retryMs === undefined
        ? { to: "done" }
        : { to: "retry", at: this.now + retryMs, delayMs: retryMs, counted: true, error };
    const plan = this.lanes.plan(run.claim, [outcome], this.now);
    const [{ id } = { id: 0 }] = run.rows;
    const job = this.file.get(id);
    if (plan === undefined) return; // it was removed
    if (retryMs === undefined) this.file.delete(id);
    else if (job !== undefined)
      job.progress = {
        attempts: 1,
        deaths: 0,
        groupMax: null,
        firstAttemptAt: T,
        runAt: this.now + retryMs,
        delayMs: retryMs,
        error: null,
      };
    this.lanes.holds(plan, this.now);
  }

  /** The oldest jobs of their lanes, or of none, that are due. */
  dueHeads(): number[] {
    const lanes = new Set<string>();
    return [...this.file].flatMap(([id, { lane, progress }]) => {
      if (lane !== undefined && lanes.has(lane)) return [];
      if (lane !== undefined) lanes.add(lane);
      return (progress?.runAt ?? 0) <= this.now ? [id] : [];
    });
  }

  remove(place: number): void {
    const ids = [...this.file.keys()].filter((_, index) => index % 5 === place % 5);
    for (const id of ids) this.file.delete(id);
    this.lanes.remove(new Set(ids), this.now);
    for (const { claim } of this.running) this.lanes.handlerEnded(claim, this.now);
    this.running.splice(0, this.running.length, ...this.running.filter(({ state }) => state === "running"));
  }

  reload(): void {
    for (; this.running.length > 0;) this.settle(0, 5);
    this.lanes = this.lanes.nextTenure();
    this.answer = undefined; // it is for the lanes before
    this.lanes.beginLoad();
    for (const id of this.file.keys()) this.lanes.append(this.rowOf(id), this.now);
    this.lanes.endLoad();
  }
}

const DELIVERY = {
  receivedAt: 1,
  sentAt: 1,
  source: undefined,
  signedBy: "default",
  signature: "",
  headers: {},
  body: Buffer.alloc(0),
};

const step = fc.oneof(
  { weight: 14, arbitrary: fc.record({ add: fc.constantFrom("a", "b", "c", "d", undefined) }) },
  { weight: 6, arbitrary: fc.record({ take: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 6, arbitrary: fc.record({ settle: fc.nat(9), retryMs: fc.option(fc.nat(60_000), { nil: undefined }) }) },
  { weight: 3, arbitrary: fc.constant({ room: true }) },
  { weight: 3, arbitrary: fc.constant({ read: true }) },
  { weight: 3, arbitrary: fc.constant({ answered: true }) },
  { weight: 3, arbitrary: fc.record({ pass: fc.integer({ min: -5_000, max: 40_000 }) }) },
  { weight: 1, arbitrary: fc.record({ remove: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.constant({ reload: true }) },
);

test("a lane with a job that the file may know by its mark alone stays in memory", () => {
  const lanes = createLanes(1);
  const waits = {
    attempts: 1,
    deaths: 0,
    groupMax: null,
    firstAttemptAt: T,
    runAt: T + 5_000,
    delayMs: 5_000,
    error: null,
  };
  lanes.append(fromLoaded([1, 1, 0, "default", "a", null, 1, null, waits]), T);
  lanes.append(Object.assign(fromLoaded([2, 1, 0, "default", "a", null, 1, null, null]), { isMarked: true }), T);
  expect([lanes.hasRoom(T), lanes.size]).toEqual([false, 2]);
});

test("a job that comes without a mark, before a marked one of its lane, goes into memory with it though that is full", () => {
  const lanes = createLanes(1);
  const limits = { max: 0, mergeMax: 1, ahead: () => 1 };
  lanes.take(limits, T);
  expect(lanes.speculate({ entry: 0, state: "waiting", consumer: "default", lane: "a" } as never)).toBe(true);
  lanes.append(fromLoaded([1, 1, 0, "default", null, null, 1, null, null]), T);
  lanes.append(fromLoaded([2, 1, 0, "default", "a", null, 1, null, null]), T);
  lanes.append(Object.assign(fromLoaded([3, 1, 0, "default", "a", null, 1, null, null]), { isMarked: true }), T);
  expect(lanes.take({ ...limits, max: 9 }, T).map(({ rows }) => rows[0]?.id)).toEqual([1, 2]);
});

test("lanes leave the memory and come back, and no job runs before an older one of its lane, or is lost", async () => {
  const steps = fc.array(step, { maxLength: 120, size: "max" });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), steps, async (maxJobs, given) => {
      const world = new World(maxJobs);
      for (const one of given) {
        if ("add" in one) world.add(one.add);
        else if ("take" in one) world.take(one.take);
        else if ("settle" in one) world.settle(one.settle, one.retryMs);
        else if ("room" in one) world.lanes.hasRoom(world.now);
        else if ("read" in one) world.read();
        else if ("answered" in one) await world.answered();
        else if ("pass" in one) world.now += one.pass;
        else if ("remove" in one) world.remove(one.remove);
        else world.reload();
      }
      // What fails for long keeps nothing that is due from running.
      while (world.running.length > 0) world.settle(0, 1_000_000_000);
      for (let rounds = 0; world.dueHeads().length > 0; rounds += 1) {
        expect(rounds).toBeLessThan(1_000);
        world.now += 10_000; // what is due in the same ten seconds may stand before it
        world.read();
        await world.answered();
        world.take(10);
        while (world.running.length > 0) world.settle(0, 1_000_000_000);
      }
      world.now += 10_000_000_000;
      for (let rounds = 0; world.file.size > 0; rounds += 1) {
        expect(rounds).toBeLessThan(1_000);
        world.read();
        await world.answered();
        world.take(10);
        while (world.running.length > 0) world.settle(0, undefined);
      }
      while (world.read()) await world.answered(); // what was removed is found to be gone
      expect(world.lanes.stats()).toMatchObject({ waiting: 0, running: 0, blockedLanes: 0, fill: 0 });
    }),
    { numRuns: 700 },
  );
});
