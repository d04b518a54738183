import type { Handler, HandlerOptions, Middleware } from "../dispatch/handlers.ts";
import type { StoredDelivery } from "../inbox/port/delivery.ts";
import type { StorageKind } from "../inbox/port/inbox.ts";
import type { Job } from "../inbox/port/jobs.ts";
import type { SeenOptions } from "../inbox/port/seen-store.ts";
import type { AfterHandlers } from "../ingest/after-handlers.ts";
import type { RawRequest, Reply } from "../ingest/types.ts";
import type { Gate } from "../ingest/unsubscribe-gate.ts";
import type { Observer } from "../observe/observers.ts";
import type { EventName, EventOf, Id } from "../protocol/event-types.ts";
import type { Flow } from "./flow.ts";
import type { Jobs } from "./jobs/jobs-types.ts";
import type { ReceiverLists } from "./lists/lists-types.ts";

/** What a receiver did since it was created, in this process. */
export interface Stats {
  /** `working`: this process works on the inbox; `standby`: another one does; `receiving`: none of the two, also before the inbox is open and after `close()`. */
  readonly role: "receiving" | "standby" | "working";
  /** Answers by status. */
  readonly answered: Readonly<Record<number, number>>;
  /** Refusals by code. */
  readonly refused: Readonly<Record<string, number>>;
  /** Deliveries stored. */
  readonly stored: number;
  /** Repeated tracking and booking events: no job was created. */
  readonly duplicates: number;
  /** Repeated keys with other content: a job was created. Always set; optional, so that a test's own `Stats` may omit it. */
  readonly conflicts?: number;
  /** Jobs done. */
  readonly succeeded: number;
  /** Failed attempts of jobs. */
  readonly failed: number;
  readonly retried: number;
  /** Changes without a handler, while another event of their family has one. */
  readonly skipped: number;
  readonly dead: number;
  /** Dead jobs that the inbox deleted because of their age, ever. Always set; optional, so that a test's own `Stats` may omit it. */
  readonly expired?: number;
  /** Jobs settled by the handler call of another job. */
  readonly merged: number;
  /** Uses of each secret: a rotation is finished when the old one is no longer used. */
  readonly secrets: readonly { readonly name: string; readonly uses: number; readonly lastUsedAt?: Date }[];
}

/** A receiver's state for probes, with its problems. */
export interface Health {
  /** False only if a restart can help: too many handlers are stuck for another to start, the inbox does not move for a minute, or fails each time it is reopened. */
  readonly live: boolean;
  /** False while the next delivery would get 503. */
  readonly ready: boolean;
  /** By severity, the worst first. docs/reference/problems.md lists all codes. */
  readonly problems: readonly {
    /** Stable, kebab-case. */
    readonly code: string;
    readonly message: string;
    /** What to change, in one sentence. */
    readonly fix?: string;
  }[];
  /** Jobs that wait for their turn or their next attempt, and deliveries not expanded yet. */
  readonly waiting: number;
  /** Time since the delivery of the oldest waiting job was received that no pause holds, milliseconds. */
  readonly oldestWaitingMs: number;
  /** Of `waiting`, jobs that a pause holds. Always set; optional, so that a test's own `Health` may omit it. */
  readonly pausedWaiting?: number;
  /** Lanes whose first job waits for its next attempt. */
  readonly blockedLanes: number;
  /** Jobs that failed for good. */
  readonly dead: number;
  /** Jobs that wait for a handler of their event. */
  readonly unhandled: number;
  /** Handlers that ignore their abort signal for longer than `graceMs`. */
  readonly stuck: number;
  /** If the inbox is on a disk and knows its free space. */
  readonly freeDiskBytes?: number;
}

/** Result of `close()`, in jobs. */
export interface Closed {
  /** Handlers that succeeded during the close. */
  readonly done: number;
  /** Released as if never started. */
  readonly released: number;
  /** Still running: they keep their claim until the process ends, and a late result still counts. */
  readonly stuck: number;
}

/** Receives and stores deliveries, and runs handlers for their events. */
export interface Receiver<out K extends StorageKind = StorageKind> {
  readonly storage: K;
  /**
   * Registers a handler for one name or several.
   * @throws UsageError `handler-unknown-name`, `handler-doubled`, `handler-invalid`, `handlers-sealed`
   */
  on<const N extends EventName>(
    name: N | readonly N[],
    handler: Handler<EventOf<N>>,
    options?: HandlerOptions<EventOf<N>>,
  ): this;
  /** Runs around every handler, in the order of `use`. */
  use(middleware: Middleware): this;
  /** Called at least once before a job is marked dead. An error, or a call longer than the handler's `timeoutMs`, is logged. */
  onDead(listener: (job: Job) => unknown): this;
  /**
   * Sets the function that decides which subscriptions to unsubscribe. Its decision is answered 422, which deletes the subscription.
   * @throws UsageError `gate-doubled` at the second call
   */
  unsubscribeWhen(gate: Gate): this;
  /**
   * Unsubscribes: writes a tombstone, so that the subscription's deliveries are answered 422. Without `source`, for every source; `""` is that
   * of mounts without one.
   * @param subscription the number, or its text, as the service gives it
   * @param reason stored up to 1,000 characters
   * @throws UsageError `subscription-invalid`, `option-invalid`
   */
  unsubscribe(subscription: Id | string, reason: string, options?: { source?: string | undefined }): Promise<void>;
  /**
   * Lifts the tombstone; without `source`, all tombstones of the subscription.
   * @throws UsageError `subscription-invalid`, `option-invalid`; `tombstone-of-every-source` where the subscription was unsubscribed for every source, and only one is given
   */
  resubscribe(subscription: Id | string, options?: { source?: string | undefined }): Promise<void>;
  /**
   * Starts to run handlers, or stands by if another process is the inbox's worker. Without it a process only receives. Seals the
   * handlers. Idempotent.
   * @throws UsageError `secret-missing`, `inbox-cannot-work`
   * @throws ClosedError `closed`
   */
  start(): Promise<void>;
  /** Resolves when no job is due or running in this process. */
  idle(): Promise<void>;
  /**
   * Closes the receiver: new deliveries get 503, and no further handler starts. Signals abort 5 s before the end of `drainMs`; jobs that
   * never started are released. Does not reject for handlers that never end: they are `stuck`.
   * @throws UsageError `option-invalid` for an invalid budget: nothing is closed
   */
  close(options?: {
    /** The whole budget, milliseconds. @default 10_000 */
    drainMs?: number | undefined;
  }): Promise<Closed>;
  /**
   * Readiness, liveness and problems. Never rejects, never waits for storage. Opens the inbox, so that a process that only receives can
   * become ready before its first delivery.
   */
  health(): Promise<Health>;
  /** A snapshot of the counters. */
  stats(): Stats;
  /** Adds an observer, whose errors are only logged. Returns a function that removes it. */
  observe(observer: Observer): () => void;
  /** Lists, replays, drops and erases jobs. */
  readonly jobs: Jobs;
  /** Pauses and resumes handlers. */
  readonly flow: Flow;
  /** Lists what else the inbox knows: blocked lanes, tombstones, gaps, errored subscriptions, workers. */
  readonly lists: ReceiverLists;
  /**
   * Takes one request and returns the answer: for your own mount. Never rejects.
   * @param afterHandlers answers after the handlers, instead of as soon as the delivery is stored
   */
  receive(request: RawRequest, afterHandlers?: AfterHandlers): Promise<Reply>;
  /**
   * For your own queue: runs the handler of each event once, in order, without retries. With `seen` events that were handled are left out
   * when the delivery comes again. Each failure is logged.
   * @throws HooklineError `seen-busy` while another process handles it, `handle-failed` when a handler failed: let the queue deliver again
   * @throws UsageError `delivery-invalid`
   */
  handle(delivery: StoredDelivery, options?: SeenOptions & { signal?: AbortSignal | undefined }): Promise<void>;
  /**
   * For a queue in front of this receiver: verifies each delivery again, all but its age, and stores it in this receiver's inbox, in order.
   * Acknowledge in the queue what is fulfilled: it is durable, or was stored before, or its subscription is unwanted. What is rejected
   * with `signature-invalid` or `delivery-invalid` will never be accepted: put it aside. Let the queue deliver the rest again. Of a call that
   * is stored in several commits, a later one may hold where an earlier one failed.
   * A look-up of secrets gets the `source` and the stored headers, and an empty path.
   * @returns one result a delivery, in order; its reason is a SignatureError `signature-invalid`, a UsageError `delivery-invalid`, a StorageError, a ClosedError `closed`, or a HooklineError with the code of a refused request
   * @throws UsageError `accept-forwards` on a receiver with `forwardInbox`, `delivery-invalid` for what is no list
   */
  accept(deliveries: readonly StoredDelivery[]): Promise<readonly PromiseSettledResult<void>[]>;
  /** `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}
