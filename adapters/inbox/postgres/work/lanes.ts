import {
  claimed,
  createCompactingMap,
  createLaneQueues,
  FRESH,
  settled,
  windowAfter,
  windowStart,
  type Claim,
  type ClaimedJob,
  type ClaimLimits,
  type Delivery,
  type InboxStats,
  type JobOutcome,
  type LaneRow,
  type LaneWindow,
  type SingleEvent,
} from "../../../../src/adapter.ts";
import type { Ending } from "./encode-step.ts";

/** An open job of a shard that this process owns. */
export interface Row extends LaneRow {
  readonly shard: number;
  readonly day: number;
  readonly delivery: number;
  readonly entry: number;
  readonly consumer: string;
  readonly replayOf: number | undefined;
  readonly receivedAt: number;
}

/** What a claim's job comes from. */
export interface Origin {
  readonly delivery: Delivery;
  /** Where it is still in memory. */
  readonly event: SingleEvent | undefined;
}

/** What is to become of a claim. */
export interface Plan extends Ending {
  readonly claim: Claim;
}

/** The lanes of this process's shards in memory: the tables are the truth, and change first. */
export interface Lanes {
  /** In the order of ids. Passed over where it is known. */
  append(row: Row, now: number): void;
  /** Runs of jobs that are reserved until `begin` or `release`. */
  take(limits: ClaimLimits, now: number): readonly Row[][];
  /** The run is marked in the table. Undefined where some of it has gone meanwhile: the rest waits again. */
  begin(run: readonly Row[], originOf: (row: Row) => Origin | undefined, now: number): Claim | undefined;
  /** A run that was taken and cannot begin. */
  release(run: readonly Row[], now: number): void;
  /** What the outcomes make of a claim's rows, to be written; undefined when it was lost, or is being settled. */
  plan(claim: Claim, outcomes: readonly JobOutcome[], now: number): Plan | undefined;
  /** Rows of a claim that is valid and not being settled. */
  runOf(claim: Claim): readonly Row[] | undefined;
  /** The plan holds. @returns false when the claim was lost meanwhile */
  settle(plan: Plan, now: number): boolean;
  /** The plan may not hold: its lane stays closed until another does. */
  unplan(claim: Claim): void;
  /** Claims end before their handlers: their lanes stay closed until those have ended. @returns the claims that are not being settled */
  revokeAll(): readonly Claim[];
  /** The handler of a revoked claim has ended. */
  endLost(claim: Claim, now: number): void;
  /** Revoked claims, with their runs. */
  readonly lost: ReadonlyMap<Claim, readonly Row[]>;
  /** Jobs that are gone from the tables. @returns the claims that ended with them */
  remove(ids: ReadonlySet<number>, now: number): readonly Claim[];
  /** Shards are to be given up: what does not run of them is forgotten. @returns those of which something runs */
  leave(shards: ReadonlySet<number>, now: number): ReadonlySet<number>;
  setWindow(lane: string, window: LaneWindow): void;
  /** What may be running. */
  running(): readonly Row[];
  nextDueAt(): number | undefined;
  hasSuspects(): boolean;
  readonly size: number;
  stats(): Pick<InboxStats, "waiting" | "running" | "blockedLanes" | "oldestWaitingAt">;
}

/** @param held revoked claims of earlier lanes whose handlers may run on */
export function createLanes(held: Lanes["lost"] = new Map()): Lanes {
  const queues = createLaneQueues<Row>();
  const rows = createCompactingMap<number, Row>();
  const claims = createCompactingMap<Claim, { readonly run: readonly Row[]; isSettling: boolean }>();
  const lost = new Map<Claim, readonly Row[]>();
  /** Of rows that were taken, or are claimed. */
  const taken = new Set<Row>();

  for (const [claim, [row]] of held) if (row?.lane !== undefined) lost.set(claim, [closeLaneOf(row)]);

  /** Closes the lane of a run for which nothing else in it may be taken. */
  function closeLaneOf(row: Row): Row {
    const head: Row = { ...row, progress: FRESH, next: undefined, queuedIn: undefined };
    queues.append(head, 0);
    queues.take({ max: 1, mergeMax: 1 }, 0);
    head.progress = settled(claimed(FRESH, 0), { to: "done" }, 0);
    return head;
  }

  function release(run: readonly Row[], now: number): void {
    for (const row of run) {
      taken.delete(row);
      if (row.progress.state === "running") row.progress = settled(row.progress, { to: "release" }, now);
    }
    queues.release(run, now);
  }

  function endLost(claim: Claim, now: number): void {
    const run = lost.get(claim);
    lost.delete(claim);
    if (run !== undefined) release(run, now);
  }

  /** @returns whether it was not on its way into the table */
  function revoke(claim: Claim): boolean {
    const open = claims.get(claim);
    if (open === undefined || open.isSettling) return false;
    claims.delete(claim);
    lost.set(claim, open.run);
    return true;
  }

  function forget(row: Row): void {
    rows.delete(row.id);
  }

  return {
    append(row, now) {
      if (rows.get(row.id) !== undefined) return;
      rows.set(row.id, row);
      queues.append(row, now);
    },
    take(limits, now) {
      const runs = queues.take(limits, now);
      for (const row of runs.flat()) {
        taken.add(row);
        row.progress = claimed(row.progress, now);
      }
      return runs;
    },
    begin(run, originOf, now) {
      const origins = run.map((row) => (row.progress.state === "running" ? originOf(row) : undefined));
      if (origins.includes(undefined)) {
        for (const [index, row] of run.entries()) {
          if (origins[index] !== undefined) continue;
          forget(row);
          row.progress = settled(row.progress, { to: "done" }, now);
        }
        release(run, now);
        return undefined;
      }
      const jobs = run.map((row, index) => toClaimed(row, origins[index] as Origin));
      const claim = { jobs } as unknown as Claim; // a run has at least one row
      claims.set(claim, { run, isSettling: false });
      return claim;
    },
    release,
    plan(claim, outcomes, now) {
      endLost(claim, now);
      const open = claims.get(claim);
      if (open === undefined || open.isSettling) return undefined;
      open.isSettling = true;
      const { run } = open;
      const progress = run.map((row, index) => settled(row.progress, outcomes[index] ?? { to: "release" }, now));
      const window = windowAfter(run, outcomes);
      const isSame = run[0]?.queuedIn?.key === undefined || window === run[0].queuedIn.window;
      return { claim, run, progress, window: isSame ? undefined : (window ?? null) };
    },
    runOf(claim) {
      const open = claims.get(claim);
      return open?.isSettling === false ? open.run : undefined;
    },
    settle({ claim, run, progress, window }, now) {
      endLost(claim, now);
      if (claims.get(claim) === undefined) return false;
      claims.delete(claim);
      const lane = run[0]?.queuedIn;
      if (lane !== undefined && window !== undefined) lane.window = window ?? undefined;
      for (const [index, row] of run.entries()) {
        taken.delete(row);
        row.progress = progress[index] ?? row.progress;
        if (row.progress.state !== "waiting") forget(row);
      }
      queues.release(run, now);
      return true;
    },
    unplan(claim) {
      const open = claims.get(claim);
      if (open !== undefined) open.isSettling = false;
    },
    revokeAll: () => [...claims.entries()].map(([claim]) => claim).filter(revoke),
    endLost,
    lost,
    remove(ids, now) {
      const ended = [...claims.entries()].filter(([, { run }]) => run.some(({ id }) => ids.has(id)));
      for (const [claim, { run }] of ended) {
        claims.delete(claim);
        lost.set(claim, run);
      }
      for (const id of ids) {
        const row = rows.get(id);
        if (row === undefined) continue;
        forget(row);
        // One that was taken leaves its lane when its run is given back.
        if (taken.has(row)) row.progress = settled(claimed(FRESH, now), { to: "done" }, now);
        else queues.remove(row, now);
      }
      return ended.map(([claim]) => claim);
    },
    leave(shards, now) {
      const gone = [...rows.values()].filter((row) => shards.has(row.shard) && !taken.has(row));
      for (const row of gone) {
        queues.remove(row, now);
        forget(row);
      }
      return new Set([...taken].map(({ shard }) => shard));
    },
    setWindow: queues.setWindow,
    running: () => [...taken].filter(({ progress }) => progress.state === "running"),
    nextDueAt: queues.nextDueAt,
    hasSuspects: queues.hasSuspects,
    get size() {
      return rows.size;
    },
    stats() {
      let runs = 0;
      for (const { run } of claims.values()) runs += run.length;
      return {
        waiting: rows.size - runs,
        running: runs,
        blockedLanes: queues.blockedLanes(),
        oldestWaitingAt: oldest(rows.values()),
      };
    },
  };
}

function toClaimed(row: Row, { delivery, event }: Origin): ClaimedJob {
  const { id, entry, consumer, lane, mergeKey, progress, replayOf } = row;
  return {
    id: String(id),
    deliveryId: String(row.delivery),
    entry,
    consumer,
    lane,
    mergeKey,
    attempt: progress.attempts,
    firstAttemptAt: windowStart(row),
    deaths: progress.deaths,
    replayOf: replayOf === undefined ? undefined : String(replayOf),
    delivery,
    event,
  };
}

/** Rows are in the order of their coming: all but some of the oldest come in that of ids. */
function oldest(rows: Iterable<Row>): number | undefined {
  let at: number | undefined;
  let looks = 0;
  for (const { progress, receivedAt } of rows) {
    if (progress.state === "waiting") at = Math.min(at ?? Infinity, receivedAt);
    if (at !== undefined && ++looks > 100) break;
  }
  return at;
}
