import {
  claimed,
  createCompactingMap,
  createLaneQueues,
  FRESH,
  settled,
  windowAfter,
  type Claim,
  type ClaimLimits,
  type Delivery,
  type InboxStats,
  type JobOutcome,
  type LaneWindow,
  type NewJob,
  type Progress,
} from "../../../../src/adapter.ts";
import type { WindowRecord } from "../client/thread-protocol.ts";
import type { Mark } from "../thread/owner-epoch.ts";
import { createJobCache } from "./job-cache.ts";
import { toClaimed, type Hold, type Row } from "./row-encoding.ts";
import { createRunningMark } from "./running-mark.ts";

/** The lanes of a file in memory: SQL is the truth, and changes first. */
export interface Lanes {
  /** In the order of ids. */
  append(row: Row, now: number): void;
  /** A commit is put together. */
  beginCommit(): void;
  /** Whether a job that it makes is to be marked with it, and may run when it holds. */
  speculate(job: NewJob): boolean;
  /** Such a job was made. */
  addSpeculative(row: Row): void;
  /** Undefined where too much is held already. */
  hold(delivery: Delivery): Hold | undefined;
  take(limits: ClaimLimits, now: number): Taken;
  /** A claim begins; undefined where some of it has gone meanwhile. */
  begin(rows: readonly Row[], deliveryOf: (id: number) => Delivery | undefined, now: number): Claim | undefined;
  /** Runs that were taken and cannot begin. */
  release(rows: readonly Row[], now: number): void;
  /** What the outcomes make of a claim's rows, to be written; undefined when it was lost, or is being settled. */
  plan(claim: Claim, outcomes: readonly JobOutcome[], now: number): Plan | undefined;
  /** The plan holds in the file. False when the claim was lost meanwhile. */
  settle(claim: Claim, plan: Plan, now: number): boolean;
  /** The plan may not hold: its lane stays closed until another does. */
  unplan(claim: Claim): void;
  /** This process is no longer the worker: revokes its claims, except those being settled. */
  revokeAll(): readonly Claim[];
  /** Its handler has ended. */
  endLost(claim: Claim, now: number): void;
  /** Claims that ended before their handlers, with their runs. */
  readonly lost: ReadonlyMap<Claim, readonly Row[]>;
  /** Those that are gone from the file. @returns the claims that ended with them */
  remove(ids: ReadonlySet<number>, now: number): readonly Claim[];
  /** What a lane has inherited, as it is in the file. */
  setWindow(lane: string, window: LaneWindow): void;
  /** The jobs that may be running, for the commit; undefined where they are the same as before it. */
  mark(now: number): Mark | undefined;
  /** Its mark may not be in the file. */
  unmark(): void;
  /** Some marked jobs are not claimed. */
  readonly isMarkedUnclaimed: boolean;
  has(id: number): boolean;
  ids(): readonly number[];
  /** The unclaimed jobs with ids after `after`. */
  unclaimed(after: number, to: number): readonly number[];
  nextDueAt(): number | undefined;
  hasSuspects(): boolean;
  readonly size: number;
  stats(): Pick<InboxStats, "waiting" | "running" | "blockedLanes" | "oldestWaitingAt">;
}

/** What a claim takes. */
export interface Taken {
  readonly runs: readonly Row[][];
  /** All of it is marked in the file already. */
  readonly isMarked: boolean;
}

/** A claim's rows. */
interface Running {
  readonly run: readonly Row[];
  /** It runs no more: what becomes of it is on its way into the file. */
  isSettling: boolean;
}

/** What is to become of a claim. */
interface Plan {
  readonly jobs: readonly { readonly row: Row; readonly progress: Progress }[];
  /** Of its lane, where it will be another. */
  readonly window: WindowRecord | undefined;
}

/** @param held claims of earlier lanes whose handlers may run on */
export function createLanes(held: Lanes["lost"] = new Map()): Lanes {
  const queues = createLaneQueues<Row>();
  const rows = createJobCache();
  /** Taken, and not yet in a claim. */
  const reserved = createCompactingMap<number, Row>();
  const running = createCompactingMap<Claim, Running>();
  /** Their handlers may run on: their lanes wait for them. */
  const lost = new Map<Claim, readonly Row[]>();
  const runningMark = createRunningMark();

  function endLost(claim: Claim, now: number): void {
    const run = lost.get(claim);
    lost.delete(claim);
    if (run !== undefined) queues.release(run, now);
  }

  function release(run: readonly Row[], now: number): void {
    for (const row of run) if (reserved.delete(row.id)) row.progress = settled(row.progress, { to: "release" }, now);
    queues.release(run, now);
  }

  for (const [claim, [row]] of held) if (row?.lane !== undefined) lost.set(claim, [placeholder(row)]);

  /** Closes the lane of a run for which nothing else in it may be taken. */
  function placeholder(row: Row): Row {
    const head = { ...row, progress: FRESH, held: undefined, next: undefined, queuedIn: undefined };
    queues.append(head, 0);
    queues.take({ max: 1, mergeMax: 1 }, 0);
    head.progress = settled(FRESH, { to: "done" }, 0);
    return head;
  }

  return {
    append(row, now) {
      rows.add(row);
      queues.append(row, now);
    },
    beginCommit: runningMark.beginCommit,
    speculate: (job) =>
      (job.lane === undefined || queues.isFree(job.lane)) && !queues.hasTried() && runningMark.speculate(job), // else it may have to wait
    addSpeculative: runningMark.add,
    hold: rows.hold,
    take(limits, now) {
      const runs = queues.take(limits, now);
      for (const row of runs.flat()) {
        row.progress = claimed(row.progress, now);
        reserved.set(row.id, row);
      }
      runningMark.follow(limits.ahead);
      const marked = runs.map(runningMark.take);
      return { runs, isMarked: !marked.includes(false) };
    },
    begin(run, deliveryOf, now) {
      if (!run.every(({ id }) => reserved.get(id) !== undefined)) {
        release(run, now);
        return undefined;
      }
      const jobs = run.map((row) => toClaimed(row, deliveryOf(row.delivery)));
      for (const row of run) {
        reserved.delete(row.id);
        rows.letGo(row);
      }
      const claim = { jobs } as unknown as Claim; // a run has at least its head
      running.set(claim, { run, isSettling: false });
      return claim;
    },
    release,
    plan(claim, outcomes, now) {
      endLost(claim, now);
      const open = running.get(claim);
      if (open === undefined || open.isSettling) return undefined;
      open.isSettling = true;
      const jobs = open.run.map((row, index) => ({
        row,
        progress: settled(row.progress, outcomes[index] ?? { to: "release" }, now),
      }));
      return { jobs, window: newWindow(open.run, outcomes) };
    },
    settle(claim, { jobs, window }, now) {
      endLost(claim, now);
      const open = running.get(claim);
      if (open === undefined) return false;
      running.delete(claim);
      const lane = open.run[0]?.queuedIn;
      if (lane !== undefined && window !== undefined) lane.window = window[1] ?? undefined;
      for (const { row, progress } of jobs) {
        row.progress = progress;
        if (progress.state !== "waiting") rows.delete(row);
      }
      queues.release(open.run, now);
      return true;
    },
    endLost,
    unplan(claim) {
      const open = running.get(claim);
      if (open !== undefined) open.isSettling = false;
    },
    revokeAll() {
      const ended: Claim[] = [];
      for (const [claim, { run, isSettling }] of running.entries()) {
        if (isSettling) continue;
        ended.push(claim);
        lost.set(claim, run);
      }
      return ended;
    },
    lost,
    remove(ids, now) {
      const ended: Claim[] = [];
      const affected = [...running.entries()].filter(([, { run }]) => run.some((row) => ids.has(row.id)));
      for (const [claim, { run }] of affected) {
        running.delete(claim);
        ended.push(claim);
        for (const row of run) {
          row.progress = settled(row.progress, ids.has(row.id) ? { to: "done" } : { to: "release" }, now);
          if (ids.has(row.id)) rows.delete(row);
        }
        lost.set(claim, run);
      }
      for (const id of ids) {
        const row = rows.get(id);
        if (row === undefined) continue;
        // One that is about to be claimed leaves its lane when its run is given back.
        if (reserved.delete(id)) row.progress = settled(row.progress, { to: "done" }, now);
        else queues.remove(row, now);
        rows.delete(row);
      }
      return ended;
    },
    setWindow: queues.setWindow,
    mark(now) {
      const mayRun = [...reserved.values()];
      for (const { run, isSettling } of running.values()) if (!isSettling) mayRun.push(...run);
      return runningMark.mark(mayRun, now);
    },
    unmark: runningMark.unmark,
    get isMarkedUnclaimed() {
      return runningMark.isOpen;
    },
    has: (id) => rows.get(id) !== undefined,
    ids: () => [...rows.between(0, Infinity)].map(({ id }) => id),
    unclaimed(after, to) {
      const ids: number[] = [];
      for (const { id, progress } of rows.between(after, to)) if (progress.state === "waiting") ids.push(id);
      return ids;
    },
    nextDueAt: queues.nextDueAt,
    hasSuspects: queues.hasSuspects,
    get size() {
      return rows.size;
    },
    stats() {
      let runs = 0;
      for (const { run } of running.values()) runs += run.length;
      return {
        waiting: rows.size - runs,
        running: runs,
        blockedLanes: queues.blockedLanes(),
        oldestWaitingAt: oldestWaiting(rows.between(0, Infinity)),
      };
    },
  };
}

/** What the outcomes make of a lane's window; undefined where it stays as it is. */
function newWindow(run: readonly Row[], outcomes: readonly JobOutcome[]): WindowRecord | undefined {
  const lane = run[0]?.queuedIn;
  const window = windowAfter(run, outcomes);
  return lane?.key === undefined || window === lane.window ? undefined : [lane.key, window ?? null];
}

function oldestWaiting(rows: Iterable<Row>): number | undefined {
  for (const row of rows) if (row.progress.state === "waiting") return row.receivedAt;
  return undefined;
}
