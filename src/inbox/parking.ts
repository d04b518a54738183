import type { ClaimBook } from "./claim-book.ts";
import type { LaneRow, WithdrawnLane } from "./lane-queues.ts";
import type { LaneWindow } from "./lane-window.ts";
import { backAt, createParkedLanes, HELD, type ParkedLanes } from "./parked-lanes.ts";
import type { ClaimRules } from "./port/claims.ts";
import type { InboxStats } from "./port/inbox.ts";
import type { Owner } from "./turns.ts";

/** A job that may wait in the storage alone. */
export interface ParkableRow extends LaneRow {
  readonly receivedAt: number;
  /** Parked lanes of one shard can be forgotten together. */
  readonly shard?: number;
}

/** Lanes that wait for their time, or may not start, leave a memory that is full, and come back when they may: they keep no other job out. */
export interface Parking<R extends ParkableRow> {
  /** What comes into a parked lane comes behind its jobs. @returns false where the lane is not parked */
  join(row: R): boolean;
  /** One that has no room. */
  park(row: R): void;
  /** Whether a lane is parked, or has only come back in part. */
  has(lane: string, shard?: number): boolean;
  /** Of a parked lane, or of one that has only come back in part: null where it ends. */
  setWindow(lane: string | undefined, window: LaneWindow | null | undefined, shard?: number): void;
  /** Whether less than this share of the memory is taken. Lanes that may not start now make room: they are parked. */
  hasRoom(now: number, share?: number): boolean;
  /** So much of the memory is taken: 1 is all. */
  fill(): number;
  /** Reads jobs that are due and have room, some at a time. @returns false where there are none */
  bringBack(read: ReadParked<R>, now: () => number): Promise<boolean>;
  /** Nothing of a shard is parked any more. */
  forget(shard?: number): void;
  /** By these rules from now on: what may start again comes back, as room allows. */
  follow(rules: Pick<ClaimRules, "resumed"> | undefined): void;
  /** Jobs may be gone from the storage. What comes back with one of them that is parked does so at once, as room allows. */
  recheck(gone: ReadonlySet<number>): void;
  /** When the next lane is due that has room, of those in memory too. */
  nextDueAt(now: number): number | undefined;
  /** Jobs that are parked because a pause holds them. */
  paused(): number;
  /** Of all jobs. @param oldest when the oldest was received that waits in memory */
  stats(oldest: number | undefined): Pick<InboxStats, "waiting" | "running" | "blockedLanes" | "oldestWaitingAt">;
}

/** @returns those of the jobs that the storage still has, in the order of ids */
type ReadParked<R> = (ids: readonly number[], shard: number) => Promise<readonly R[]>;

/** Of a durable inbox: so many wait in memory. */
export const DEFAULT_MAX_JOBS = 500_000;

export interface ParkingDeps<R extends ParkableRow> {
  /** In memory. */
  readonly maxJobs: number;
  readonly book: Pick<
    ClaimBook<R>,
    | "withdraw"
    | "setRest"
    | "setWindow"
    | "nextDueAt"
    | "running"
    | "blockedLanes"
    | "isPaused"
    | "mayBegin"
    | "hasReady"
  >;
  readonly rows: { size(): number; delete(row: R): void };
  /** Into the memory, and into its lane. */
  readonly add: (row: R, now: number) => void;
  /** Asked for each lane that may not start now. */
  readonly mayGo: (lane: WithdrawnLane<R>) => boolean;
}

/** So much less memory does a parked job take. */
const PARKED_SHARE = 1 / 4;
/** Where less of the memory is taken, what an account had no free call for comes back beside its jobs that are there. */
const REFILL = 1 / 2;
/** Parked at once, and read at once when they are due. */
const PAGE = 1_000;
const NONE = Promise.resolve(false);

export function createParking<R extends ParkableRow>(deps: ParkingDeps<R>): Parking<R> {
  const { maxJobs, book, rows, add, mayGo } = deps;
  /** By shard; the one that comes back next is first. */
  const parked = new Map<number, ParkedLanes>();
  let coming: Promise<boolean> | undefined;
  let resumed: number | undefined;
  book.setRest(({ lane, shard = 0 }) => parked.get(shard)?.restOf(lane));

  const sizeOf = (): number => sum(parked.values(), ({ size }) => size);
  const fill = (): number => (rows.size() + sizeOf() * PARKED_SHARE) / maxJobs;

  function lanesOf(shard: number): ParkedLanes {
    const lanes = parked.get(shard) ?? createParkedLanes(book.isPaused);
    parked.set(shard, lanes);
    return lanes;
  }

  /** Those that wait longest, some at a time. @returns whether there were any */
  function parkSome(now: number, may = mayGo): boolean {
    const lanes = book.withdraw(PAGE, may, now);
    for (const lane of lanes) {
      parkLane(lane);
      for (const row of lane.rows) rows.delete(row);
    }
    return lanes.length > 0;
  }

  function parkLane({ key, rows: all, isPaused, holder, window }: WithdrawnLane<R>): void {
    const [{ progress, receivedAt, shard = 0 }] = all as readonly [R, ...R[]];
    const { runAt, delayMs } = isPaused || holder !== undefined ? HELD : progress;
    lanesOf(shard).park({ key, ids: all.map(({ id }) => id), runAt, delayMs, receivedAt, window, holder });
  }

  /** Soon nothing of it would be in memory that may start. */
  const isWanted = (owner: Owner): boolean =>
    book.mayBegin(owner) && (rows.size() < maxJobs * REFILL || !book.hasReady(owner));

  async function bringBackNext(read: ReadParked<R>, now: () => number): Promise<boolean> {
    for (const [shard, lanes] of parked) {
      const page = lanes.due(now(), PAGE);
      if (page === undefined) continue;
      if (rows.size() >= maxJobs && !parkSome(now(), (lane) => mayGo(lane) && staysAway(lane, now()))) return false;
      parked.delete(shard);
      parked.set(shard, lanes);
      const found = await read(page.ids, shard);
      // A shard may have been forgotten meanwhile.
      if (parked.get(shard) !== lanes || !lanes.back(page)) return true;
      for (const row of found) {
        add(row, now());
        const window = lanes.windowOf(row.lane);
        if (window !== undefined && row.lane !== undefined) book.setWindow(row.lane, window);
      }
      if (lanes.size === 0) parked.delete(shard);
      return true;
    }
    return false;
  }

  return {
    join: ({ id, lane, shard = 0 }) => parked.get(shard)?.join(id, lane) === true,
    park(row) {
      const isPaused = book.isPaused(row);
      const holder = isPaused || book.mayBegin(row) ? undefined : { consumer: row.consumer, account: row.account };
      parkLane({ key: row.lane, rows: [row], isPaused, holder, window: undefined });
    },
    has: (lane, shard = 0) => parked.get(shard)?.has(lane) === true,
    setWindow(lane, window, shard = 0) {
      if (lane !== undefined && window !== undefined) parked.get(shard)?.setWindow(lane, window);
    },
    hasRoom(now, share = 1) {
      while (fill() >= share && parkSome(now));
      return fill() < share;
    },
    fill,
    bringBack(read, now) {
      if (parked.size === 0) return NONE;
      coming ??= bringBackNext(read, now).finally(() => (coming = undefined));
      return coming;
    },
    forget: (shard = 0) => void parked.delete(shard),
    follow(rules) {
      const isResumed = resumed !== rules?.resumed;
      resumed = rules?.resumed;
      for (const lanes of parked.values()) {
        if (lanes.size === 0) continue;
        if (isResumed) lanes.resume();
        lanes.free(isWanted);
      }
    },
    recheck(gone) {
      for (const lanes of parked.values()) lanes.recheck(gone);
    },
    nextDueAt(now) {
      const there = least(parked.values(), (lanes) => lanes.nextDueAt());
      // While there is no room, what ends wakes the loop.
      const next = Math.min(
        book.nextDueAt() ?? Infinity,
        there <= now && rows.size() >= maxJobs ? Infinity : Math.max(there, now),
      );
      return next === Infinity ? undefined : next;
    },
    paused: () => sum(parked.values(), (lanes) => lanes.paused()),
    stats(oldest = Infinity) {
      const running = book.running();
      const oldestOfAll = Math.min(
        oldest,
        least(parked.values(), (lanes) => lanes.oldestReceivedAt()),
      );
      return {
        waiting: rows.size() - running + sizeOf(),
        running,
        blockedLanes: book.blockedLanes() + sum(parked.values(), (lanes) => lanes.blockedLanes()),
        oldestWaitingAt: oldestOfAll === Infinity ? undefined : oldestOfAll,
      };
    },
  };
}

/** Else it would come back at once, and others would have to leave for it, again and again. */
function staysAway({ rows: [head], isPaused, holder }: WithdrawnLane<LaneRow>, now: number): boolean {
  return isPaused || holder !== undefined || (head !== undefined && backAt(head.progress.runAt) > now);
}

function sum(all: Iterable<ParkedLanes>, of: (lanes: ParkedLanes) => number): number {
  let total = 0;
  for (const lanes of all) total += of(lanes);
  return total;
}

function least(all: Iterable<ParkedLanes>, of: (lanes: ParkedLanes) => number | undefined): number {
  let found = Infinity;
  for (const lanes of all) found = Math.min(found, of(lanes) ?? Infinity);
  return found;
}
