import {
  createCompactingMap,
  settled,
  windowStart,
  type Claim,
  type ClaimedJob,
  type Delivery,
  type InboxStats,
  type LaneRow,
  type Progress,
  type SingleEvent,
} from "../../../../src/adapter.ts";
import { createClaimBook, type ClaimBook, type ClaimRecord } from "../../../../src/inbox/claim-book.ts";
import { createPausedCount } from "../../../../src/inbox/pauses.ts";
import { createParking, type Parking } from "../../../../src/inbox/parking.ts";

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

/** The lanes and claims of this process's shards in memory: the tables are the truth, and change first. */
export interface Lanes
  extends
    Pick<
      ClaimBook<Row>,
      | "take"
      | "giveBack"
      | "plan"
      | "holds"
      | "mayNotHold"
      | "rowsOf"
      | "revoke"
      | "handlerEnded"
      | "hasSuspects"
      | "setWindow"
      | "taken"
    >,
    Pick<Parking<Row>, "hasRoom" | "fill" | "bringBack" | "nextDueAt"> {
  /** In the order of ids. Passed over where it is known. @returns false where there is no room */
  append(row: Row, now: number): boolean;
  /** The run is marked in the table. Undefined where some of it has gone meanwhile: the rest waits again. */
  begin(run: ClaimRecord<Row>, originOf: (row: Row) => Origin | undefined, now: number): Claim | undefined;
  /** Jobs that are gone from the tables. @returns the claims that ended with them */
  remove(ids: ReadonlySet<number>, now: number): readonly Claim[];
  /** One that another worker has a handler for, or whose body is not there yet: once it waits again, it does so for a while. */
  defer(row: Row, ms?: number): void;
  /** Shards are to be given up: what does not run of them is forgotten. @returns those of which something runs */
  leave(shards: ReadonlySet<number>, now: number): ReadonlySet<number>;
  /** Reads shards of which something may be in memory. Nothing of them is parked until it is used: what was read of it would be of before. */
  whileRead<T, R>(shards: readonly number[], read: () => Promise<T>, use: (found: T) => R): Promise<R>;
  /** All jobs of a shard are to be appended that are not in memory: none is parked any more. */
  beginLoad(shard: number): void;
  /** The shards are to be read anew. */
  nextTenure(): Lanes;
  /** What may be running. */
  running(): readonly Row[];
  has(id: number): boolean;
  stats(): Pick<InboxStats, "waiting" | "pausedWaiting" | "running" | "blockedLanes" | "oldestWaitingAt" | "fill">;
}

/** Until a job is claimed again that could not be passed on to another worker yet. */
const DEFER_MS = 5_000;

/**
 * @param maxJobs in memory
 * @param begin a tenure
 */
export function createLanes(maxJobs: number = Infinity, begin: ClaimBook<Row>["nextTenure"] = createClaimBook): Lanes {
  const rows = createCompactingMap<number, Row>();
  const countPaused = createPausedCount();
  const book = begin((row) => {
    if (row.progress.state !== "waiting") rows.delete(row.id);
  });
  let beingRead: ReadonlySet<number> = new Set();
  const deferred = new WeakMap<Row, number>();
  /** Runs that were taken, and have not begun. */
  const ahead = new Set<ClaimRecord<Row>>();
  const parking = createParking<Row>({
    maxJobs,
    book,
    rows: { size: () => rows.size, delete: ({ id }) => void rows.delete(id) },
    add,
    mayGo: ({ rows: all }) => all.every(({ shard }) => shard === all[0]?.shard && !beingRead.has(shard)),
  });

  function add(row: Row, now: number): void {
    if (rows.get(row.id) !== undefined) return;
    rows.set(row.id, row);
    book.append(row, now);
  }

  /** Where it is to wait for a while, it does. */
  function later(row: Row | undefined, progress: Progress, now: number): Progress {
    const delayMs = row && deferred.get(row);
    if (row === undefined || delayMs === undefined) return progress;
    deferred.delete(row);
    return { ...progress, runAt: now + delayMs, delayMs };
  }

  return {
    ...book,
    hasRoom: parking.hasRoom,
    bringBack: parking.bringBack,
    nextDueAt: parking.nextDueAt,
    fill: parking.fill,
    take(limits, now) {
      parking.follow(limits.rules);
      const runs = book.take(limits, now);
      for (const run of runs) ahead.add(run);
      return runs;
    },
    append(row, now) {
      if (rows.get(row.id) !== undefined) return true;
      if (rows.size >= maxJobs && !parking.hasRoom(now)) return false;
      if (!parking.join(row)) add(row, now);
      return true;
    },
    giveBack(run, now) {
      ahead.delete(run);
      for (const row of run.rows)
        if (deferred.has(row) && row.progress.state === "running")
          row.progress = later(row, settled(row.progress, { to: "release" }, now), now);
      book.giveBack(run, now);
    },
    begin(run, originOf, now) {
      ahead.delete(run);
      const origins = new Map(run.rows.map((row) => [row, originOf(row)]));
      const gone = run.rows.filter((row) => origins.get(row) === undefined);
      if (gone.length > 0) book.remove(new Set(gone), now);
      return book.begin(run, (row) => toClaimed(row, origins.get(row) as Origin), now);
    },
    defer: (row, ms = DEFER_MS) => void deferred.set(row, ms),
    holds(plan, now) {
      plan.progress &&= plan.progress.map((one, place) => later(plan.rows[place], one, now));
      const holds = book.holds(plan, now);
      if (holds) parking.setWindow(plan.rows[0]?.lane, plan.window, plan.rows[0]?.shard);
      return holds;
    },
    remove(ids, now) {
      const gone = [...ids].flatMap((id) => rows.get(id) ?? []);
      if (gone.length < ids.size) parking.recheck(ids);
      return book.remove(new Set(gone), now);
    },
    leave(shards, now) {
      for (const shard of shards) parking.forget(shard);
      const gone = [...rows.values()].filter(
        ({ shard, progress }) => shards.has(shard) && progress.state === "waiting",
      );
      book.remove(new Set(gone), now);
      return new Set([...book.taken()].map(({ shard }) => shard));
    },
    async whileRead(shards, read, use) {
      beingRead = new Set(shards);
      let found: Awaited<ReturnType<typeof read>>;
      try {
        found = await read();
      } finally {
        beingRead = new Set();
      }
      return use(found); // at once
    },
    beginLoad: parking.forget,
    nextTenure: () => createLanes(maxJobs, book.nextTenure),
    running: () => [...book.taken()].filter(({ progress }) => progress.state === "running"),
    has: (id) => rows.get(id) !== undefined,
    stats() {
      const taken = [...ahead].flatMap((run) => run.rows.map(({ receivedAt }) => receivedAt));
      const oldestTaken = taken.length === 0 ? undefined : taken.reduce((a, b) => Math.min(a, b));
      const fill = parking.fill();
      if (!book.isPausing()) return { ...parking.stats(least(oldestOf(rows.values()), oldestTaken)), fill };
      const { pausedWaiting, oldestWaitingAt } = countPaused(waitingOf(rows.values()), book.isPaused);
      const stats = parking.stats(least(oldestWaitingAt, oldestTaken));
      return { ...stats, fill, pausedWaiting: pausedWaiting + parking.paused() };
    },
  };
}

function least(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
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
    accountId: row.account,
    delivery,
    event,
  };
}

function* waitingOf(rows: Iterable<Row>): Generator<Row, void, undefined> {
  for (const row of rows) if (row.progress.state === "waiting") yield row;
}

/** Rows are in the order of their coming: all but some of the oldest come in that of ids. */
function oldestOf(rows: Iterable<Row>): number | undefined {
  let at: number | undefined;
  let looks = 0;
  for (const { progress, receivedAt } of rows) {
    if (progress.state === "waiting") at = Math.min(at ?? Infinity, receivedAt);
    if (at !== undefined && ++looks > 100) break;
  }
  return at;
}
