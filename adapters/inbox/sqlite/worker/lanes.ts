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
  type Progress,
} from "../../../../src/adapter.ts";
import type { WindowRecord } from "../client/thread-protocol.ts";
import { createJobCache } from "./job-cache.ts";
import { toClaimed, type Hold, type Row, type Speculate } from "./row-encoding.ts";
import { createSpeculativeClaims } from "./speculative-claims.ts";

/** The lanes of a file in memory: SQL is the truth, and changes first. */
export interface Lanes {
  /** In the order of ids. A marked row runs as soon as it is claimed. */
  append(row: Row, now: number): void;
  /** Whether a job that a commit makes is to be marked with it, and may run when it holds. */
  readonly speculate: Speculate;
  /** Undefined where too much is held already. @param events of them there are jobs */
  hold(delivery: Delivery, events: number): Hold | undefined;
  /** Runs of jobs that are reserved until `begin` or `release`. */
  take(limits: ClaimLimits, now: number): readonly Row[][];
  /** A claim begins; undefined where some of it has gone meanwhile. */
  begin(run: readonly Row[], deliveryOf: (id: number) => Delivery | undefined, now: number): Claim | undefined;
  /** Runs that were taken and cannot begin. */
  release(run: readonly Row[], now: number): void;
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
  /** A commit is put together. @returns ids of marked jobs that nobody claimed in time */
  unclaimed(): readonly number[];
  /** It may not have taken them back. */
  unclaimFailed(): void;
  /** The file is read anew: it marks nothing but what runs. @returns ids of what does */
  running(): readonly number[];
  /** Some marked jobs are not claimed. */
  readonly isMarkedUnclaimed: boolean;
  has(id: number): boolean;
  /** The unclaimed jobs of a range of ids, of which `after` is not. */
  unclaimedIn(after: number, to: number): readonly number[];
  nextDueAt(): number | undefined;
  hasSuspects(): boolean;
  readonly size: number;
  stats(): Pick<InboxStats, "waiting" | "running" | "blockedLanes" | "oldestWaitingAt">;
}

/** A claim's rows. */
interface Running {
  readonly run: readonly Row[];
  /** It runs no more: what becomes of it is on its way into the file. */
  isSettling: boolean;
}

/** What is to become of a claim. */
export interface Plan {
  readonly run: readonly Row[];
  /** Of each row; undefined: all are done. */
  readonly progress: readonly Progress[] | undefined;
  /** Of its lane, where it will be another. */
  readonly window: WindowRecord | undefined;
}

/** @param held claims of earlier lanes whose handlers may run on */
export function createLanes(held: Lanes["lost"] = new Map()): Lanes {
  const queues = createLaneQueues<Row>();
  const rows = createJobCache();
  const running = createCompactingMap<Claim, Running>();
  /** Their handlers may run on: their lanes wait for them. */
  const lost = new Map<Claim, readonly Row[]>();
  const speculative = createSpeculativeClaims();

  function endLost(claim: Claim, now: number): void {
    const run = lost.get(claim);
    lost.delete(claim);
    if (run !== undefined) queues.release(run, now);
  }

  function release(run: readonly Row[], now: number): void {
    for (const row of run) {
      if (row.progress.state !== "running") continue;
      row.progress = settled(row.progress, { to: "release" }, now);
      if (row.isMarked) speculative.add(row);
    }
    queues.release(run, now);
  }

  for (const [claim, [row]] of held) if (row?.lane !== undefined) lost.set(claim, [closeLaneOf(row)]);

  /** Closes the lane of a run for which nothing else in it may be taken. */
  function closeLaneOf(row: Row): Row {
    const head: Row = {
      ...row,
      progress: FRESH,
      isMarked: false,
      held: undefined,
      next: undefined,
      queuedIn: undefined,
    };
    queues.append(head, 0);
    queues.take({ max: 1, mergeMax: 1 }, 0);
    head.progress = settled(FRESH, { to: "done" }, 0);
    return head;
  }

  return {
    append(row, now) {
      rows.add(row);
      queues.append(row, now);
      if (row.isMarked) speculative.add(row);
    },
    speculate: (job) =>
      (job.lane === undefined || queues.isFree(job.lane)) && !queues.hasTried() && speculative.speculate(job), // else it may have to wait
    hold: rows.hold,
    take(limits, now) {
      const runs = queues.take(limits, now);
      for (const run of runs) for (const row of run) row.progress = claimed(row.progress, now);
      speculative.follow(limits.ahead);
      return runs;
    },
    begin(run, deliveryOf, now) {
      // One that was removed meanwhile does not run: then none of them does, and the file is to take their marks back.
      if (run.some(({ progress }) => progress.state !== "running")) {
        for (const row of run) row.isMarked = row.progress.state === "running";
        release(run, now);
        return undefined;
      }
      const jobs = run.map((row) => toClaimed(row, row.held === undefined ? deliveryOf(row.delivery) : undefined));
      for (const row of run) {
        row.isMarked = true;
        rows.letGo(row);
      }
      const claim = { jobs } as unknown as Claim; // a run has at least one row
      running.set(claim, { run, isSettling: false });
      return claim;
    },
    release,
    plan(claim, outcomes, now) {
      endLost(claim, now);
      const open = running.get(claim);
      if (open === undefined || open.isSettling) return undefined;
      open.isSettling = true;
      const { run } = open;
      const isDone = outcomes.length === run.length && outcomes.every(({ to }) => to === "done");
      const progress = isDone
        ? undefined
        : run.map((row, index) => settled(row.progress, outcomes[index] ?? { to: "release" }, now));
      return { run, progress, window: newWindow(run, outcomes) };
    },
    settle(claim, { run, progress, window }, now) {
      endLost(claim, now); // it was lost while this was on its way
      const open = running.get(claim);
      if (open === undefined) return false;
      running.delete(claim);
      const lane = run[0]?.queuedIn;
      if (lane !== undefined && window !== undefined) lane.window = window[1] ?? undefined;
      for (const [index, row] of run.entries()) {
        row.progress = progress?.[index] ?? DONE;
        row.isMarked = false;
        if (row.progress.state !== "waiting") rows.delete(row);
      }
      queues.release(run, now);
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
          const isGone = ids.has(row.id);
          row.progress = settled(row.progress, isGone ? { to: "done" } : { to: "release" }, now);
          if (isGone) rows.delete(row);
          else if (row.isMarked) speculative.add(row);
        }
        lost.set(claim, run);
      }
      for (const id of ids) {
        const row = rows.get(id);
        if (row === undefined) continue;
        // One that is about to be claimed leaves its lane when its run is given back.
        if (row.progress.state === "running") row.progress = settled(row.progress, { to: "done" }, now);
        else queues.remove(row, now);
        row.isMarked = false;
        rows.delete(row);
      }
      return ended;
    },
    setWindow: queues.setWindow,
    unclaimed: () => speculative.unclaimed().map(({ id }) => id),
    unclaimFailed: speculative.failed,
    running() {
      speculative.clear();
      const ids: number[] = [];
      for (const { id, progress } of rows.between(0, Infinity)) if (progress.state === "running") ids.push(id);
      return ids;
    },
    get isMarkedUnclaimed() {
      return speculative.isOpen;
    },
    has: (id) => rows.get(id) !== undefined,
    unclaimedIn(after, to) {
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

const DONE: Progress = { ...FRESH, state: "done" };

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
