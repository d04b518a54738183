import type { Claim, ClaimLimits, Delivery, InboxStats } from "../../../../src/adapter.ts";
import { createClaimBook, type ClaimBook, type ClaimRecord } from "../../../../src/inbox/claim-book.ts";
import { createParking, type Parking } from "../../../../src/inbox/parking.ts";
import { createPausedCount } from "../../../../src/inbox/pauses.ts";
import { createJobCache } from "./job-cache.ts";
import { toClaimed, type Hold, type Row, type Speculate } from "./row-encoding.ts";
import { createSpeculativeClaims } from "./speculative-claims.ts";

/** The lanes and claims of a file in memory: SQL is the truth, and changes first. */
export interface Lanes
  extends
    Pick<
      ClaimBook<Row>,
      "shorten" | "giveBack" | "plan" | "holds" | "mayNotHold" | "revoke" | "handlerEnded" | "setWindow" | "hasSuspects"
    >,
    Pick<Parking<Row>, "hasRoom" | "bringBack" | "nextDueAt"> {
  /**
   * In the order of ids. A marked row runs as soon as it is claimed. Of the others, one whose lane is parked stays in the file, and so does one
   * for which there is no room.
   */
  append(row: Row, now: number): void;
  /** All jobs of the file are to be read, in the order of ids: none is parked any more. Until the end of that nothing leaves memory: it would be read again. */
  beginLoad(): void;
  endLoad(): void;
  /** Whether a job that a commit makes is to be marked with it, and may run when it holds. */
  readonly speculate: Speculate;
  /** Undefined where too much is held already. @param events of them there are jobs */
  hold(delivery: Delivery, events: number): Hold | undefined;
  take(limits: ClaimLimits, now: number): readonly ClaimRecord<Row>[];
  /** The file marks its jobs. Undefined where some have gone meanwhile. */
  begin(run: ClaimRecord<Row>, deliveryOf: (id: number) => Delivery | undefined, now: number): Claim | undefined;
  /** Those that are gone from the file. @returns the claims that are lost with them */
  remove(ids: ReadonlySet<number>, now: number): readonly Claim[];
  /** The jobs of the file are to be read anew. */
  nextTenure(): Lanes;
  /** A commit is put together. @returns ids of marked jobs that nobody claimed in time */
  takeBackUnclaimed(): readonly number[];
  /** It may not have taken them back. */
  unclaimFailed(): void;
  /** The file is read anew: it marks nothing but what runs. @returns ids of what does */
  running(): readonly number[];
  /** Some marked jobs are not claimed. */
  readonly isMarkedUnclaimed: boolean;
  has(id: number): boolean;
  /** The unclaimed jobs of a range of ids, of which `after` is not. */
  unclaimedIn(after: number, to: number): readonly number[];
  readonly size: number;
  stats(): Pick<InboxStats, "waiting" | "pausedWaiting" | "running" | "blockedLanes" | "oldestWaitingAt" | "fill">;
}

/**
 * @param maxJobs in memory
 * @param begin a tenure
 */
export function createLanes(maxJobs: number = Infinity, begin: ClaimBook<Row>["nextTenure"] = createClaimBook): Lanes {
  const rows = createJobCache();
  const speculative = createSpeculativeClaims();
  const book = begin((row) => {
    if (row.progress.state !== "waiting") rows.delete(row);
    else if (row.isMarked) speculative.add(row);
  });
  const countPaused = createPausedCount();
  let isLoading = false;

  const parking = createParking<Row>({
    maxJobs,
    book,
    rows: { size: () => rows.size, delete: rows.delete },
    add,
    // What has no row yet would not be found when it comes back.
    mayGo: ({ rows: all }) => !isLoading && !all.some(speculative.mayMark),
  });

  const isFree = (lane: string | undefined): boolean => lane === undefined || (book.isFree(lane) && !parking.has(lane));

  function add(row: Row, now: number): void {
    rows.add(row);
    book.append(row, now);
    if (row.isMarked) speculative.add(row);
  }

  return {
    ...book,
    hasRoom: parking.hasRoom,
    bringBack: parking.bringBack,
    nextDueAt: parking.nextDueAt,
    append(row, now) {
      if (!row.isMarked && parking.join(row)) return;
      // What the same commit marked of its lane comes into memory, and would overtake it.
      if (row.isMarked || speculative.marks(row.lane) || rows.size < maxJobs) add(row, now);
      else parking.park(row);
    },
    beginLoad() {
      isLoading = true;
      parking.forget();
    },
    endLoad: () => void (isLoading = false),
    setWindow(lane, window) {
      parking.setWindow(lane, window);
      book.setWindow(lane, window);
    },
    speculate: (job, account) =>
      // Else it may have to wait.
      isFree(job.lane) &&
      !book.hasTried() &&
      book.mayBegin({ consumer: job.consumer, account }) &&
      speculative.speculate(job),
    hold: rows.hold,
    take(limits, now) {
      parking.follow(limits.rules);
      const runs = book.take(limits, now);
      speculative.follow(limits.ahead);
      return runs;
    },
    begin(run, deliveryOf, now) {
      for (const row of run.rows) row.isMarked = row.progress.state === "running";
      const claim = book.begin(
        run,
        (row) => toClaimed(row, row.held === undefined ? deliveryOf(row.delivery) : undefined),
        now,
      );
      if (claim !== undefined) for (const row of run.rows) rows.letGo(row);
      return claim;
    },
    holds(plan, now) {
      for (const row of plan.rows) row.isMarked = false;
      const holds = book.holds(plan, now);
      if (holds) parking.setWindow(plan.rows[0]?.lane, plan.window);
      return holds;
    },
    remove(ids, now) {
      const gone = new Set<Row>();
      for (const id of ids) {
        const row = rows.get(id);
        if (row !== undefined) gone.add(row);
      }
      if (gone.size < ids.size) parking.recheck(ids);
      for (const row of gone) row.isMarked = false;
      return book.remove(gone, now);
    },
    nextTenure: () => createLanes(maxJobs, book.nextTenure),
    takeBackUnclaimed: () => speculative.takeBackUnclaimed().map(({ id }) => id),
    unclaimFailed: speculative.failed,
    running() {
      speculative.clear();
      const ids: number[] = [];
      for (const { id, progress } of book.taken()) if (progress.state === "running") ids.push(id);
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
    get size() {
      return rows.size;
    },
    stats() {
      const paused = book.isPausing() ? countPaused(waitingOf(rows.between(0, Infinity)), book.isPaused) : undefined;
      const stats = parking.stats(paused ? paused.oldestWaitingAt : oldestWaiting(rows.between(0, Infinity)));
      const counted = paused && { pausedWaiting: paused.pausedWaiting + parking.paused() };
      return { ...stats, ...counted, fill: parking.fill() };
    },
  };
}

function* waitingOf(rows: Iterable<Row>): Generator<Row, void, undefined> {
  for (const row of rows) if (row.progress.state === "waiting") yield row;
}

function oldestWaiting(rows: Iterable<Row>): number | undefined {
  for (const row of rows) if (row.progress.state === "waiting") return row.receivedAt;
  return undefined;
}
