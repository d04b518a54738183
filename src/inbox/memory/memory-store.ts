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
export interface DeliveryRow {
  readonly id: number;
  readonly delivery: Delivery;
  /** The entry to go on with while it is not expanded. */
  cursor: number;
  /** Jobs that still need its bytes, and one while it is not expanded. */
  references: number;
  /** Those of them that are not settled: they make no room. */
  unsettled: number;
}

/** A job in memory. */
export interface JobRow extends LaneRow {
  readonly deliveryRow: DeliveryRow;
  readonly entry: number;
  readonly event: SingleEvent;
  readonly consumer: string | undefined;
  readonly replayOf: string | undefined;
}

/** Where parcels and rows stand, and how much room is left. */
export interface MemoryStore {
  /** A place for a delivery; undefined when there is none. What makes room, dead and unhandled jobs, is told by its count. */
  addDelivery(delivery: Delivery, dropped: (count: number) => void): DeliveryRow | undefined;
  /** A row for a job; none for a skipped one, which is kept like done: not at all. */
  addJob(
    deliveryRow: DeliveryRow,
    event: Pick<NewEvent, "entry" | "event">,
    job: NewJob & { readonly replayOf?: string },
  ): JobRow | undefined;
  /** The deliveryRow is wholly expanded, or given up. */
  endExpansion(deliveryRow: DeliveryRow): void;
  /** The row's progress changed. */
  progressChanged(row: JobRow): void;
  remove(row: JobRow): void;
  get(id: string): JobRow | undefined;
  /** Those behind an id, in order; all without one. */
  rows(after?: string): Iterable<JobRow>;
  /** Whether a delivery can be received, if it is not larger than an ordinary one. */
  hasRoom(): boolean;
  /** Rows that wait or run. */
  waiting(): number;
  stats(): Omit<InboxStats, "unexpanded" | "blockedLanes">;
  toClaimed(row: JobRow): ClaimedJob;
  toStored(row: JobRow): StoredJob;
}

export function createMemoryStore(limits: { readonly maxJobs: number; readonly maxBytes: number }): MemoryStore {
  const rows = createOrderedPages<JobRow>();
  /** Settled but kept, oldest first. */
  const settled = { dead: new Set<JobRow>(), unhandled: new Set<JobRow>() };
  let lastId = 0;
  let bytes = 0;
  let unsettledBytes = 0;
  let open = 0; // parcels not wholly expanded
  let running = 0;
  let oldest = 1; // no row below it waits

  function oldestWaitingAt(): number | undefined {
    for (const row of rows.after(oldest - 1)) {
      oldest = row.id;
      if (row.progress.state === "waiting") return row.deliveryRow.delivery.receivedAt;
    }
    oldest = lastId + 1;
    return undefined;
  }

  /** Where there is no room for it, there is none for a smaller one either: full is full for all of them, and can be told. */
  const ordinary = ordinaryBytes(limits.maxBytes);
  const waiting = (): number => rows.size - settled.dead.size - settled.unhandled.size;
  const fits = (size: number): boolean => rows.size + open < limits.maxJobs && bytes + size <= limits.maxBytes;
  /** Or would, without all that may be dropped. */
  const couldFit = (size: number): boolean =>
    waiting() + open < limits.maxJobs && unsettledBytes + Math.max(size, ordinary) <= limits.maxBytes;

  function settle(deliveryRow: DeliveryRow): void {
    deliveryRow.unsettled -= 1;
    if (deliveryRow.unsettled === 0) unsettledBytes -= deliveryRow.delivery.body.byteLength;
  }

  function release(deliveryRow: DeliveryRow): void {
    deliveryRow.references -= 1;
    if (deliveryRow.references === 0) bytes -= deliveryRow.delivery.body.byteLength;
  }

  function remove(row: JobRow): void {
    if (!rows.delete(row.id)) return;
    const { state } = row.progress;
    if (state === "running") running -= 1;
    if (state === "running" || state === "waiting") settle(row.deliveryRow);
    settled.dead.delete(row);
    settled.unhandled.delete(row);
    release(row.deliveryRow);
  }

  /** What nobody handles goes first, then what failed for good; never what still waits for its handler. */
  function makeRoom(size: number): number {
    let dropped = 0;
    for (const jobs of [settled.unhandled, settled.dead]) {
      for (const row of jobs) {
        if (fits(size)) return dropped;
        remove(row);
        dropped += 1;
      }
    }
    return dropped;
  }

  return {
    addDelivery(delivery, dropped) {
      const size = delivery.body.byteLength;
      if (!couldFit(size)) return undefined;
      const count = makeRoom(size);
      if (count > 0) dropped(count);
      bytes += size;
      unsettledBytes += size;
      open += 1;
      lastId += 1;
      return { id: lastId, delivery, cursor: 0, references: 1, unsettled: 1 };
    },
    addJob(deliveryRow, { entry, event }, { state, consumer, lane, mergeKey, replayOf }) {
      if (state === "skipped") return undefined;
      lastId += 1;
      const progress = state === "waiting" ? FRESH : { ...FRESH, state, settledAt: deliveryRow.delivery.receivedAt };
      const row: JobRow = {
        id: lastId,
        deliveryRow,
        entry,
        event,
        consumer,
        lane,
        mergeKey,
        replayOf,
        progress,
        next: undefined,
        queuedIn: undefined,
      };
      deliveryRow.references += 1;
      rows.add(row);
      if (state === "unhandled") {
        settled.unhandled.add(row);
      } else {
        if (deliveryRow.unsettled === 0) unsettledBytes += deliveryRow.delivery.body.byteLength; // a replay
        deliveryRow.unsettled += 1;
      }
      return row;
    },
    endExpansion(deliveryRow) {
      open -= 1;
      settle(deliveryRow);
      release(deliveryRow);
    },
    progressChanged(row) {
      const { state } = row.progress;
      if (state === "running") running += 1;
      else running -= 1;
      if (state === "waiting") oldest = Math.min(oldest, row.id);
      if (state !== "running" && state !== "waiting") settle(row.deliveryRow);
      if (state === "done") remove(row);
      if (state === "dead" || state === "unhandled") settled[state].add(row);
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
        dead: settled.dead.size,
        unhandled: settled.unhandled.size,
        oldestWaitingAt: oldestWaitingAt(),
      };
    },
    toClaimed: (row) => ({
      id: String(row.id),
      deliveryId: String(row.deliveryRow.id),
      entry: row.entry,
      consumer: row.consumer ?? "",
      lane: row.lane,
      mergeKey: row.mergeKey,
      attempt: row.progress.attempts,
      firstAttemptAt: windowStart(row),
      deaths: row.progress.deaths,
      replayOf: row.replayOf,
      delivery: row.deliveryRow.delivery,
      event: row.event,
    }),
    toStored: (row) => ({
      id: String(row.id),
      deliveryId: String(row.deliveryRow.id),
      entry: row.entry,
      state: row.progress.state,
      event: row.event,
      consumer: row.consumer,
      lane: row.lane,
      attempts: row.progress.attempts,
      error: row.progress.error,
      receivedAt: row.deliveryRow.delivery.receivedAt,
      runAt: row.progress.runAt === 0 ? undefined : row.progress.runAt,
      settledAt: row.progress.settledAt,
      replayOf: row.replayOf,
    }),
  };
}
