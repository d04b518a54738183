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
import { createRunningMark } from "./running-mark.ts";
import type { WindowRecord } from "../client/messages.ts";
import type { Mark } from "../thread/owner-epoch.ts";
import { toClaimed, type Hold, type Row } from "./row-encoding.ts";
import { createJobCache } from "./job-cache.ts";

/** The lanes of a file in memory: SQL is the truth, and changes first. */
export interface Lanes {
  /** In the order of ids. */
  append(row: Row, now: number): void;
  /** A commit is put together. */
  turn(): void;
  /** Whether a job that it makes is to be marked with it, and may run when it holds. */
  foresee(job: NewJob): boolean;
  /** Such a job was made. */
  made(row: Row): void;
  /** Undefined where too much is held already. */
  hold(delivery: Delivery): Hold | undefined;
  take(limits: ClaimLimits, now: number): Taken;
  /** A claim begins; undefined where some of it has gone meanwhile. */
  begin(rows: readonly Row[], deliveryOf: (id: number) => Delivery | undefined, now: number): Claim | undefined;
  /** Runs that were taken and cannot begin. */
  giveBack(rows: readonly Row[], now: number): void;
  /** What the outcomes make of a claim's rows, to be written; undefined when it was lost, or is being settled. */
  plan(claim: Claim, outcomes: readonly JobOutcome[], now: number): Plan | undefined;
  /** The plan holds in the file. False when the claim was lost meanwhile. */
  settle(claim: Claim, plan: Plan, now: number): boolean;
  /** The plan may not hold: its lane stays closed until another does. */
  unplan(claim: Claim): void;
  /** This process works no more: its claims end, but for those of which is being told how they ended. */
  loseAll(): readonly Claim[];
  /** Its handler has ended. */
  endLost(claim: Claim, now: number): void;
  /** Claims that ended before their handlers, with their runs. */
  readonly lost: ReadonlyMap<Claim, readonly Row[]>;
  /** Those that are gone from the file. @returns the claims that ended with them */
  remove(ids: ReadonlySet<number>, now: number): readonly Claim[];
  /** What a lane has inherited, as it is in the file. */
  inherit(lane: string, window: LaneWindow): void;
  /** The jobs that may be running, for the commit; undefined where they are the same as before it. */
  mark(now: number): Mark | undefined;
  /** Its mark may not be in the file. */
  unmark(): void;
  /** Something is marked that nobody has claimed. */
  readonly isMarkedUnclaimed: boolean;
  has(id: number): boolean;
  ids(): readonly number[];
  /** Those that nobody has claimed, of a range of ids of which `after` is not. */
  unclaimed(after: number, to: number): readonly number[];
  nextDueAt(): number | undefined;
  suspects(): boolean;
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
  const book = createLaneQueues<Row>();
  const rows = createJobCache();
  /** Taken, and not yet in a claim. */
  const reserved = createCompactingMap<number, Row>();
  const running = createCompactingMap<Claim, Running>();
  /** Their handlers may run on: their lanes wait for them. */
  const lost = new Map<Claim, readonly Row[]>();
  const marker = createRunningMark();

  function endLost(claim: Claim, now: number): void {
    const run = lost.get(claim);
    lost.delete(claim);
    if (run !== undefined) book.give(run, now);
  }

  function giveBack(run: readonly Row[], now: number): void {
    for (const row of run) if (reserved.delete(row.id)) row.progress = settled(row.progress, { to: "release" }, now);
    book.give(run, now);
  }

  for (const [claim, [row]] of held) if (row?.lane !== undefined) lost.set(claim, [standIn(row)]);

  /** Closes the lane of a run for which nothing else in it may be taken. */
  function standIn(row: Row): Row {
    const head = { ...row, progress: FRESH, held: undefined, next: undefined, place: undefined };
    book.append(head, 0);
    book.take({ max: 1, mergeMax: 1 }, 0);
    head.progress = settled(FRESH, { to: "done" }, 0);
    return head;
  }

  return {
    append(row, now) {
      rows.add(row);
      book.append(row, now);
    },
    turn: marker.turn,
    foresee: (job) => (job.lane === undefined || book.isFree(job.lane)) && !book.tried() && marker.foresee(job), // else it may have to wait
    made: marker.made,
    hold: rows.hold,
    take(limits, now) {
      const runs = book.take(limits, now);
      for (const row of runs.flat()) {
        row.progress = claimed(row.progress, now);
        reserved.set(row.id, row);
      }
      marker.follow(limits.ahead);
      const marked = runs.map(marker.take);
      return { runs, isMarked: !marked.includes(false) };
    },
    begin(run, deliveryOf, now) {
      if (!run.every(({ id }) => reserved.get(id) !== undefined)) {
        giveBack(run, now);
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
    giveBack,
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
      const lane = open.run[0]?.place;
      if (lane !== undefined && window !== undefined) lane.window = window[1] ?? undefined;
      for (const { row, progress } of jobs) {
        row.progress = progress;
        if (progress.state !== "waiting") rows.delete(row);
      }
      book.give(open.run, now);
      return true;
    },
    endLost,
    unplan(claim) {
      const open = running.get(claim);
      if (open !== undefined) open.isSettling = false;
    },
    loseAll() {
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
        else book.remove(row, now);
        rows.delete(row);
      }
      return ended;
    },
    inherit: book.inherit,
    mark(now) {
      const mayRun = [...reserved.values()];
      for (const { run, isSettling } of running.values()) if (!isSettling) mayRun.push(...run);
      return marker.mark(mayRun, now);
    },
    unmark: marker.unmark,
    get isMarkedUnclaimed() {
      return marker.isOpen;
    },
    has: (id) => rows.get(id) !== undefined,
    ids: () => [...rows.between(0, Infinity)].map(({ id }) => id),
    unclaimed(after, to) {
      const ids: number[] = [];
      for (const { id, progress } of rows.between(after, to)) if (progress.state === "waiting") ids.push(id);
      return ids;
    },
    nextDueAt: book.nextDueAt,
    suspects: book.suspects,
    get size() {
      return rows.size;
    },
    stats() {
      let runs = 0;
      for (const { run } of running.values()) runs += run.length;
      return {
        waiting: rows.size - runs,
        running: runs,
        blockedLanes: book.blocked(),
        oldestWaitingAt: oldestWaiting(rows.between(0, Infinity)),
      };
    },
  };
}

/** What the outcomes make of a lane's window; undefined where it stays as it is. */
function newWindow(run: readonly Row[], outcomes: readonly JobOutcome[]): WindowRecord | undefined {
  const lane = run[0]?.place;
  const window = windowAfter(run, outcomes);
  return lane?.key === undefined || window === lane.window ? undefined : [lane.key, window ?? null];
}

function oldestWaiting(rows: Iterable<Row>): number | undefined {
  for (const row of rows) if (row.progress.state === "waiting") return row.receivedAt;
  return undefined;
}
