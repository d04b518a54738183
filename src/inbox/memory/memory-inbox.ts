import { assertOptions, wholeNumber } from "../../assert.ts";
import { StorageError, UsageError } from "../../errors.ts";
import { createClaimBook } from "../claim-book.ts";
import { createFifo } from "../collections/fifo.ts";
import { createErroredSubscriptions, noticeOf } from "../errored-subscriptions.ts";
import { STORED_BEFORE, type Expanded, type NewDelivery, type NewEvent, type StoreResult } from "../port/delivery.ts";
import type { Inbox, InboxHost, Worker, WorkingInbox } from "../port/inbox.ts";
import { createPausedCount, createPauses, withoutReason } from "../pauses.ts";
import type { Pause } from "../port/pauses.ts";
import { createMemoryGaps } from "./memory-gaps.ts";
import { memoryJobs } from "./memory-jobs.ts";
import { createMemoryStore, type DeliveryRow, type JobRow } from "./memory-store.ts";
import { memoryTombstones } from "./memory-tombstones.ts";

/** Limits of a memory inbox. */
export interface MemoryInboxOptions {
  /** Jobs and unexpanded deliveries; beyond it deliveries get 503. @default 100_000 */
  maxJobs?: number | undefined;
  /** Bodies stored, in bytes; with less than 16 KiB left, or a 64th of a smaller limit, it is full. @default 64 MiB */
  maxBytes?: number | undefined;
}

/**
 * Stores deliveries in this process: when it ends, by a crash or a deploy, unhandled deliveries are lost although they were
 * answered 200. Under `cluster` each process has its own inbox. For development and tests.
 *
 * Done and skipped jobs are deleted at once; dead and unhandled jobs are deleted when deliveries and their jobs need room.
 * @throws UsageError `option-invalid`
 * @example createReceiver({ secret: process.env.SIGNING_SECRET, inbox: memoryInbox() });
 */
export function memoryInbox(options: MemoryInboxOptions = {}): Inbox<"memory"> {
  assertOptions("memoryInbox", options, { maxJobs: true, maxBytes: true });
  const inbox: WorkingInbox<"memory"> = createMemoryInbox({
    maxJobs: positive("maxJobs", options.maxJobs ?? 100_000),
    maxBytes: positive("maxBytes", options.maxBytes ?? 64 * 1024 * 1024),
  });
  return inbox;
}

function createMemoryInbox(limits: { readonly maxJobs: number; readonly maxBytes: number }): WorkingInbox<"memory"> {
  const store = createMemoryStore(limits);
  const book = createClaimBook<JobRow>(store.changed);
  const backlog = createFifo<DeliveryRow>();
  const subscriptions = createErroredSubscriptions();
  const gaps = createMemoryGaps();
  const storedPauses = new Map<string, string>();
  const countPaused = createPausedCount();
  const pauses = createPauses(
    {
      read: async () => [...storedPauses.values()],
      async write(key, pause, endedBefore) {
        const wasThere = storedPauses.delete(key);
        for (const [other, text] of storedPauses)
          if (((JSON.parse(text) as Pause).until ?? Infinity) < endedBefore) storedPauses.delete(other);
        if (pause !== undefined) storedPauses.set(key, pause);
        return wasThere;
      },
      waitingJobs: async () =>
        [...store.waitingRows()].map(({ account = null, consumer = null }) => ({ account, consumer, jobs: 1 })),
    },
    () => opened?.clock.now() ?? -Infinity,
  );
  async function forgetPauseReasons(accountId: number): Promise<number> {
    const theirs = [...storedPauses].map(([key, text]) => [key, withoutReason(text, accountId)] as const);
    const erased = theirs.filter(([, text]) => text !== undefined);
    for (const [key, text = ""] of erased) storedPauses.set(key, text);
    await pauses.refresh();
    return erased.length;
  }

  const now = (): number => host().clock.now();
  const tombstones = memoryTombstones(now, subscriptions.forget);
  let opened: InboxHost | undefined;
  let keys: UniqueKeys | undefined;
  let worker: Worker | undefined;
  let dropped = 0;

  function host(): InboxHost {
    if (opened === undefined) throw new StorageError("storage-failed", "The inbox is not open.");
    return opened;
  }

  /** Adds jobs for events of one delivery: all of them, or the next part. */
  function addEvents(deliveryRow: DeliveryRow, events: readonly NewEvent[], time: number): Expanded {
    const duplicates: number[] = [];
    const conflicts: number[] = [];
    for (const [index, event] of events.entries()) {
      const notice = noticeOf(event.event);
      if (notice !== undefined) subscriptions.record(notice, deliveryRow.delivery);
      const seen = event.unique === undefined ? "new" : keys?.add(event.unique, time);
      if (seen === "duplicate") {
        duplicates.push(index);
        continue;
      }
      if (seen === "conflict") conflicts.push(index);
      for (const job of event.jobs) {
        const row = store.addJob(deliveryRow, event, job);
        if (row?.progress.state === "waiting") book.append(row, time);
      }
    }
    report(store.trim());
    return { duplicates, conflicts };
  }

  function report(count: number): void {
    if (count === 0) return;
    dropped += count;
    host().log.error(
      { code: "memory-dropped", count: dropped },
      "the memory inbox is full: its oldest dead and unhandled jobs were dropped (count: total since start)",
    );
  }

  function storeOne({ delivery, events, idInQueue }: NewDelivery, time: number): StoreResult | StorageError {
    const unique = idInQueue === undefined ? undefined : { key: `delivery ${idInQueue}`, content: "" };
    if (unique !== undefined && keys?.has(unique, time)) return STORED_BEFORE;
    const deliveryRow = store.addDelivery(delivery, report);
    if (deliveryRow === undefined)
      return new StorageError(
        "inbox-full",
        `The memory inbox holds ${limits.maxJobs} jobs or ${limits.maxBytes} bytes.`,
      );
    if (unique !== undefined) keys?.add(unique, time);
    const expanded = events !== undefined && backlog.size === 0;
    const seen = expanded ? addEvents(deliveryRow, events, time) : { duplicates: [], conflicts: [] };
    if (expanded) store.endExpansion(deliveryRow);
    else backlog.push(deliveryRow);
    return { id: String(deliveryRow.id), expanded, ...seen };
  }

  const inbox: WorkingInbox<"memory"> = {
    storage: "memory",
    open: async (given) => {
      if (opened !== undefined && opened !== given)
        throw new UsageError("inbox-shared", "This memory inbox is in use by another receiver.", {
          fix: "Give each receiver a `memoryInbox()` of its own, or close the other one first.",
        });
      opened = given;
      keys ??= createUniqueKeys({ windowMs: given.dedupeWindowMs, max: limits.maxJobs });
    },
    store: async (deliveries) => {
      const time = now();
      return deliveries.map((delivery) => storeOne(delivery, time));
    },
    tombstones,
    subscriptions: {
      errored: subscriptions.list,
      forget: async (...unwanted) => subscriptions.forget(...unwanted),
      record: async (...notice) => subscriptions.record(...notice),
      known: async () => subscriptions.known(),
    },
    ready: () =>
      store.hasRoom()
        ? { ready: true }
        : { ready: false, error: new StorageError("inbox-full", "The memory inbox is full.") },
    close: async () => {
      if (opened === undefined) return;
      const count = store.waiting() + backlog.size;
      if (count > 0)
        host().log.warn(
          { code: "memory-lost", count },
          "the memory inbox closed with unhandled jobs: they are lost when this process ends",
        );
      // A claim ends with its owner.
      book.orphan(now());
      opened = undefined;
      worker = undefined;
    },

    work: async (given) => {
      worker = given;
      worker.begin();
    },
    unexpanded: async (max) => {
      if (store.waiting() >= limits.maxJobs) return [];
      const rows: DeliveryRow[] = [];
      for (const deliveryRow of backlog) {
        if (rows.length >= max) break;
        rows.push(deliveryRow);
      }
      return rows.map(({ id, delivery, cursor }) => ({ id: String(id), delivery, cursor }));
    },
    expand: async (expansions) =>
      expansions.map(({ id, events, cursor }) => {
        const deliveryRow = backlog.peek();
        // Erased meanwhile, or already expanded: no jobs.
        if (deliveryRow === undefined || String(deliveryRow.id) !== id) return { duplicates: [], conflicts: [] };
        const seen = addEvents(deliveryRow, events, now());
        if (cursor === undefined) {
          backlog.shift();
          store.endExpansion(deliveryRow);
        } else if (events.length > 0) {
          deliveryRow.cursor = cursor; // without events it moves nothing
        }
        return seen;
      }),
    claim: async (wanted) => {
      const time = now();
      const claims = book.take(wanted, time).flatMap((run) => book.begin(run, store.toClaimed, time) ?? []);
      return { claims, nextDueAt: book.nextDueAt(), suspects: book.hasSuspects() };
    },
    settle: async (settlements) => {
      const time = now();
      const results = settlements.map(({ claim, outcomes }) => {
        const plan = book.plan(claim, outcomes, time);
        return plan !== undefined && book.holds(plan, time);
      });
      report(store.trim());
      return results;
    },
    jobs: memoryJobs({
      store,
      book,
      backlog,
      now,
      lost: (ended) => worker?.lost(ended),
      wake: () => worker?.wake(),
      erased: async (accountId, theirs) => ({
        tombstones: tombstones.forgetReasons(theirs),
        pauses: await forgetPauseReasons(accountId),
        notices: subscriptions.forgetAccount(accountId),
        resources: gaps.forgetAccount(accountId),
      }),
    }),
    gaps,
    pauses,
    stats() {
      const isPausing = pauses.current().length > 0;
      const stats = { ...store.stats(), ...(isPausing && countPaused(store.waitingRows(), pauses.isPaused)) };
      const oldest = Math.min(stats.oldestWaitingAt ?? Infinity, backlog.peek()?.delivery.receivedAt ?? Infinity);
      const running = book.running();
      return {
        ...stats,
        waiting: store.waiting() - running,
        running,
        oldestWaitingAt: oldest === Infinity ? undefined : oldest,
        unexpanded: backlog.size,
        blockedLanes: book.blockedLanes(),
      };
    },
    capabilities: { durability: "none", order: "strict", shared: false, workers: "one" },
  };
  return inbox;
}

function positive(name: string, value: number): number {
  return wholeNumber({ where: "memoryInbox", name, value, least: 1 });
}

type UniqueKey = NonNullable<NewEvent["unique"]>;

/** Unique keys that were seen within the window. */
interface UniqueKeys {
  /** With this content. */
  has(unique: UniqueKey, now: number): boolean;
  /** Remembers the key. `conflict`: it was seen with other content. */
  add(unique: UniqueKey, now: number): "new" | "duplicate" | "conflict";
}

/** Beyond `max` the oldest are forgotten first. */
function createUniqueKeys(options: { readonly windowMs: number; readonly max: number }): UniqueKeys {
  /**
   * When a key with its content was first seen, and when a key alone last made a job. A Map keeps the order of insertion, so the
   * oldest is first.
   */
  const seen = new Map<string, number>();

  function remember(key: string, now: number): void {
    for (const [oldest, at] of seen) {
      if (seen.size < options.max && now - at < options.windowMs) break;
      seen.delete(oldest);
    }
    const at = Math.max(now, seen.get(key) ?? now); // a wall clock that jumped back shortens no window
    seen.delete(key);
    seen.set(key, at);
  }

  const known = (key: string, now: number): boolean => {
    const at = seen.get(key);
    return at !== undefined && now - at < options.windowMs;
  };

  return {
    has: (unique, now) => known(wholeOf(unique), now),
    add(unique, now) {
      const { key } = unique;
      const whole = wholeOf(unique);
      if (known(whole, now)) return "duplicate";
      const conflict = known(key, now);
      remember(key, now);
      remember(whole, now);
      return conflict ? "conflict" : "new";
    },
  };
}

function wholeOf({ key, content }: UniqueKey): string {
  return `${key}\n${content}`;
}
