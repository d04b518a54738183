import { ordinaryBytes } from "../../ordinary-bytes.ts";
import type { SingleEvent } from "../../protocol/events.ts";
import type { Delivery, NewEvent, NewJob } from "../port/delivery.ts";
import { type LaneRow, windowStart } from "../lane-queues.ts";
import type { ClaimedJob } from "../port/claims.ts";
import type { StoredJob } from "../port/jobs.ts";
import type { InboxStats } from "../port/inbox.ts";
import { createOrderedPages } from "../collections/ordered-pages.ts";
import { FRESH } from "../job-state.ts";

/** A delivery in memory. */
export interface Parcel {
  readonly id: number;
  readonly delivery: Delivery;
  /** The entry to go on with while it is not expanded. */
  cursor: number;
  /** Jobs that still need its bytes, and one while it is not expanded. */
  holders: number;
  /** Those of them that are not settled: they make no room. */
  unsettled: number;
}

/** A job in memory. */
export interface Row extends LaneRow {
  readonly parcel: Parcel;
  readonly entry: number;
  readonly event: SingleEvent;
  readonly consumer: string | undefined;
  readonly replayOf: string | undefined;
}

/** Where parcels and rows stand, and how much room is left. */
export interface MemoryStore {
  /** A place for a delivery; undefined when there is none. What makes room, dead and unhandled jobs, is told by its count. */
  receive(delivery: Delivery, dropped: (count: number) => void): Parcel | undefined;
  /** A row for a job; none for a skipped one, which is kept like done: not at all. */
  add(
    parcel: Parcel,
    event: Pick<NewEvent, "entry" | "event">,
    job: NewJob & { readonly replayOf?: string },
  ): Row | undefined;
  /** The parcel is wholly expanded, or given up. */
  close(parcel: Parcel): void;
  /** The row's progress changed. */
  moved(row: Row): void;
  remove(row: Row): void;
  get(id: string): Row | undefined;
  /** Those behind an id, in order; all without one. */
  rows(after?: string): Iterable<Row>;
  /** Whether a delivery can be received, if it is not larger than an ordinary one. */
  hasRoom(): boolean;
  /** Rows that wait or run. */
  waiting(): number;
  stats(): Omit<InboxStats, "unexpanded" | "blockedLanes">;
  toClaimed(row: Row): ClaimedJob;
  toStored(row: Row): StoredJob;
}

export function createMemoryStore(limits: { readonly maxJobs: number; readonly maxBytes: number }): MemoryStore {
  const rows = createOrderedPages<Row>();
  /** Settled but kept, oldest first. */
  const kept = { dead: new Set<Row>(), unhandled: new Set<Row>() };
  let lastId = 0;
  let bytes = 0;
  let unsettledBytes = 0;
  let open = 0; // parcels not wholly expanded
  let running = 0;
  let oldest = 1; // no row below it waits

  function oldestWaitingAt(): number | undefined {
    for (const row of rows.after(oldest - 1)) {
      oldest = row.id;
      if (row.progress.state === "waiting") return row.parcel.delivery.receivedAt;
    }
    oldest = lastId + 1;
    return undefined;
  }

  /** Where there is no room for it, there is none for a smaller one either: full is full for all of them, and can be told. */
  const ordinary = ordinaryBytes(limits.maxBytes);
  const waiting = (): number => rows.size - kept.dead.size - kept.unhandled.size;
  const fits = (size: number): boolean => rows.size + open < limits.maxJobs && bytes + size <= limits.maxBytes;
  /** Or would, without all that may be dropped. */
  const couldFit = (size: number): boolean =>
    waiting() + open < limits.maxJobs && unsettledBytes + Math.max(size, ordinary) <= limits.maxBytes;

  function settle(parcel: Parcel): void {
    parcel.unsettled -= 1;
    if (parcel.unsettled === 0) unsettledBytes -= parcel.delivery.body.byteLength;
  }

  function letGo(parcel: Parcel): void {
    parcel.holders -= 1;
    if (parcel.holders === 0) bytes -= parcel.delivery.body.byteLength;
  }

  function remove(row: Row): void {
    if (!rows.delete(row.id)) return;
    const { state } = row.progress;
    if (state === "running") running -= 1;
    if (state === "running" || state === "waiting") settle(row.parcel);
    kept.dead.delete(row);
    kept.unhandled.delete(row);
    letGo(row.parcel);
  }

  /** What nobody handles goes first, then what failed for good; never what still waits for its handler. */
  function makeRoom(size: number): number {
    let dropped = 0;
    for (const settled of [kept.unhandled, kept.dead]) {
      for (const row of settled) {
        if (fits(size)) return dropped;
        remove(row);
        dropped += 1;
      }
    }
    return dropped;
  }

  return {
    receive(delivery, dropped) {
      const size = delivery.body.byteLength;
      if (!couldFit(size)) return undefined;
      const count = makeRoom(size);
      if (count > 0) dropped(count);
      bytes += size;
      unsettledBytes += size;
      open += 1;
      lastId += 1;
      return { id: lastId, delivery, cursor: 0, holders: 1, unsettled: 1 };
    },
    add(parcel, { entry, event }, { state, consumer, lane, mergeKey, replayOf }) {
      if (state === "skipped") return undefined;
      lastId += 1;
      const progress = state === "waiting" ? FRESH : { ...FRESH, state, settledAt: parcel.delivery.receivedAt };
      const row: Row = {
        id: lastId,
        parcel,
        entry,
        event,
        consumer,
        lane,
        mergeKey,
        replayOf,
        progress,
        next: undefined,
        place: undefined,
      };
      parcel.holders += 1;
      rows.add(row);
      if (state === "unhandled") {
        kept.unhandled.add(row);
      } else {
        if (parcel.unsettled === 0) unsettledBytes += parcel.delivery.body.byteLength; // a replay
        parcel.unsettled += 1;
      }
      return row;
    },
    close(parcel) {
      open -= 1;
      settle(parcel);
      letGo(parcel);
    },
    moved(row) {
      const { state } = row.progress;
      if (state === "running") running += 1;
      else running -= 1;
      if (state === "waiting") oldest = Math.min(oldest, row.id);
      if (state !== "running" && state !== "waiting") settle(row.parcel);
      if (state === "done") remove(row);
      if (state === "dead" || state === "unhandled") kept[state].add(row);
    },
    remove,
    get(id) {
      const row = rows.get(Number(id));
      return row !== undefined && String(row.id) === id ? row : undefined; // "01" is nobody's
    },
    rows: (after = "0") => rows.after(Number(after)),
    hasRoom: () => couldFit(0),
    waiting,
    stats() {
      return {
        waiting: waiting() - running,
        running,
        dead: kept.dead.size,
        unhandled: kept.unhandled.size,
        oldestWaitingAt: oldestWaitingAt(),
      };
    },
    toClaimed: (row) => ({
      id: String(row.id),
      deliveryId: String(row.parcel.id),
      entry: row.entry,
      consumer: row.consumer ?? "",
      lane: row.lane,
      mergeKey: row.mergeKey,
      attempt: row.progress.attempts,
      firstAttemptAt: windowStart(row),
      deaths: row.progress.deaths,
      replayOf: row.replayOf,
      delivery: row.parcel.delivery,
      event: row.event,
    }),
    toStored: (row) => ({
      id: String(row.id),
      deliveryId: String(row.parcel.id),
      entry: row.entry,
      state: row.progress.state,
      event: row.event,
      consumer: row.consumer,
      lane: row.lane,
      attempts: row.progress.attempts,
      error: row.progress.error,
      receivedAt: row.parcel.delivery.receivedAt,
      runAt: row.progress.runAt === 0 ? undefined : row.progress.runAt,
      settledAt: row.progress.settledAt,
      replayOf: row.replayOf,
    }),
  };
}
