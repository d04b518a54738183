import { ordinaryBytes } from "../ordinary-bytes.ts";
import type { SingleEvent } from "../../protocol/event-types.ts";
import { createOrderedPages } from "../collections/ordered-pages.ts";
import { FRESH } from "../job-state.ts";
import type { LaneRow } from "../lane-queues.ts";
import { windowStart } from "../lane-window.ts";
import type { ClaimedJob } from "../port/claims.ts";
import type { Delivery, NewEvent, NewJob } from "../port/delivery.ts";
import type { InboxStats } from "../port/inbox.ts";
import type { StoredJob } from "../port/jobs.ts";

/** A delivery in memory. */
export interface DeliveryRow {
  readonly id: number;
  readonly delivery: Delivery;
  /** The entry to go on with while it is not expanded. */
  cursor: number;
  /** Jobs that need its bytes, plus one while it is unexpanded. */
  references: number;
  /** References of unsettled jobs: they cannot be deleted to make room. */
  unsettled: number;
}

/** A job in memory. */
export interface JobRow extends LaneRow {
  readonly deliveryRow: DeliveryRow;
  readonly entry: number;
  readonly event: SingleEvent;
  readonly consumer: string | undefined;
  readonly account: number | undefined;
  readonly replayOf: string | undefined;
}

/** A waiting job as pauses see it. */
type Waiting = Pick<JobRow, "consumer" | "account"> & { readonly receivedAt: number };

/** Rows of deliveries and jobs, and how much room is left. */
export interface MemoryStore {
  /** Undefined when there is no room. @param dropped called with the number of dead and unhandled jobs deleted to make room */
  addDelivery(delivery: Delivery, dropped: (count: number) => void): DeliveryRow | undefined;
  /** Undefined for a skipped job, which like a done one is not stored. */
  addJob(
    deliveryRow: DeliveryRow,
    event: Pick<NewEvent, "entry" | "event">,
    job: NewJob & { readonly replayOf?: string },
  ): JobRow | undefined;
  /** The delivery is fully expanded, or erased. */
  endExpansion(deliveryRow: DeliveryRow): void;
  /** After jobs were added or settled: drops unhandled jobs, then dead ones, oldest first, beyond `maxJobs`. @returns how many */
  trim(): number;
  /** The job waits again, or has ended. */
  changed(row: JobRow): void;
  remove(row: JobRow): void;
  get(id: string): JobRow | undefined;
  /** Jobs after an id, in order; all without one. */
  rows(after?: string): Iterable<JobRow>;
  /** Whether a delivery of ordinary size can be stored. */
  hasRoom(): boolean;
  /** Number of jobs that wait or run. */
  waiting(): number;
  stats(): Pick<InboxStats, "dead" | "unhandled" | "oldestWaitingAt">;
  /** Jobs that wait and do not run. */
  waitingRows(): IterableIterator<Waiting>;
  toClaimed(row: JobRow): ClaimedJob;
  toStored(row: JobRow): StoredJob;
}

export function createMemoryStore(limits: { readonly maxJobs: number; readonly maxBytes: number }): MemoryStore {
  const rows = createOrderedPages<JobRow>();
  /** Oldest first. */
  const settled = { dead: new Set<JobRow>(), unhandled: new Set<JobRow>() };
  let lastId = 0;
  let bytes = 0;
  let unsettledBytes = 0;
  let open = 0; // unexpanded deliveries
  let oldest = 1; // no job with a lower id waits

  function oldestWaitingAt(): number | undefined {
    for (const row of rows.between(oldest - 1, Infinity)) {
      oldest = row.id;
      if (row.progress.state === "waiting") return row.deliveryRow.delivery.receivedAt;
    }
    oldest = lastId + 1;
    return undefined;
  }

  /** Without room for this many bytes the inbox is full for every delivery, so that `ready` can say so. */
  const ordinary = ordinaryBytes(limits.maxBytes);
  const waiting = (): number => rows.size - settled.dead.size - settled.unhandled.size;
  const fits = (size: number): boolean => rows.size + open < limits.maxJobs && bytes + size <= limits.maxBytes;
  /** Dropping does not help where those that wait fill it alone. */
  const isWithinLimit = (): boolean => rows.size <= limits.maxJobs || waiting() >= limits.maxJobs;
  /** Whether it fits after all dead and unhandled jobs are dropped. */
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
    if (state === "running" || state === "waiting") settle(row.deliveryRow);
    settled.dead.delete(row);
    settled.unhandled.delete(row);
    release(row.deliveryRow);
  }

  /** Drops unhandled jobs first, then dead ones, until it is enough; never unsettled ones. */
  function drop(isEnough: () => boolean): number {
    let dropped = 0;
    for (const jobs of [settled.unhandled, settled.dead]) {
      for (const row of jobs) {
        if (isEnough()) return dropped;
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
      const count = drop(() => fits(size));
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
        account: event.accountId,
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
    trim: () => drop(isWithinLimit),
    changed(row) {
      const { state } = row.progress;
      if (state === "waiting") oldest = Math.min(oldest, row.id);
      else settle(row.deliveryRow);
      if (state === "done") remove(row);
      if (state === "dead" || state === "unhandled") settled[state].add(row);
    },
    remove,
    get(id) {
      const row = rows.get(Number(id));
      return row !== undefined && String(row.id) === id ? row : undefined; // no job has the id "01"
    },
    rows: (after = "0") => rows.between(Number(after), Infinity),
    hasRoom: () => couldFit(0),
    waiting,
    stats() {
      return {
        dead: settled.dead.size,
        unhandled: settled.unhandled.size,
        oldestWaitingAt: oldestWaitingAt(),
      };
    },
    *waitingRows() {
      for (const { progress, consumer, account, deliveryRow } of rows.between(oldest - 1, Infinity))
        if (progress.state === "waiting") yield { consumer, account, receivedAt: deliveryRow.delivery.receivedAt };
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
      accountId: row.account,
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
