import type { Handler, HandlerOptions, Middleware } from "../dispatch/handlers.ts";
import type { StoredDelivery } from "../inbox/port/delivery.ts";
import type { Job } from "../inbox/port/jobs.ts";
import type { StorageKind } from "../inbox/port/inbox.ts";
import type { Observer } from "../observers.ts";
import type { EventName, EventOf, Id } from "../protocol/events.ts";
import type { Gate } from "../ingest/unsubscribe-gate.ts";
import type { AfterHandlers } from "../ingest/answer-option.ts";
import type { RawRequest, Reply } from "../ingest/types.ts";
import type { Jobs } from "./jobs/jobs-types.ts";

/** What a receiver has done since it was made, in this process. */
export interface Stats {
  /** `receiving`: `start()` was not called, or has not held; `standby`: another process works on this inbox; `working`: this one does. */
  readonly role: "receiving" | "standby" | "working";
  /** Answers by status. */
  readonly answered: Readonly<Record<number, number>>;
  /** Refusals by code. */
  readonly refused: Readonly<Record<string, number>>;
  /** Deliveries stored. */
  readonly stored: number;
  /** Events of tracking and booking that were seen before: no job was made. */
  readonly duplicates: number;
  /** The same key with other content: a job was made. Always told; optional, so that a test's own `Stats` may leave it out. */
  readonly conflicts?: number;
  /** Jobs done. */
  readonly succeeded: number;
  /** Jobs whose attempt failed; each attempt counts. */
  readonly failed: number;
  readonly retried: number;
  /** Changes that no handler asked for, beside a handler of their family. */
  readonly skipped: number;
  readonly dead: number;
  /** Jobs that another job's call settled. */
  readonly merged: number;
  /** Which secret made the signatures: when the old one is not used any more, its rotation is finished. */
  readonly secrets: readonly { readonly name: string; readonly uses: number; readonly lastUsedAt?: Date }[];
}

/** How a receiver stands: what a probe asks, and what somebody should look at. */
export interface Health {
  /** False only where a restart can help: so many handlers are stuck that nothing new is begun, or the inbox fails each time it is begun. */
  readonly live: boolean;
  /** False while the next delivery would get 503. */
  readonly ready: boolean;
  /** What is wrong, the worst first. The README lists all codes. */
  readonly problems: readonly {
    /** Stable, kebab-case. */
    readonly code: string;
    readonly message: string;
    /** What to change, in one sentence. */
    readonly fix?: string;
  }[];
  /** Jobs that wait for their turn or their next attempt, and deliveries that are not expanded yet. */
  readonly waiting: number;
  /** Since the delivery of the oldest waiting job was received, milliseconds. */
  readonly oldestWaitingMs: number;
  /** Lanes whose first job waits for its next attempt. */
  readonly blockedLanes: number;
  /** Jobs that failed for good. */
  readonly dead: number;
  /** Jobs that wait for a handler of their event. */
  readonly unhandled: number;
  /** Handlers that ignore their signal past their grace. */
  readonly stuck: number;
  /** Where the inbox is on a disk, and knows. */
  readonly freeDiskBytes?: number;
}

/** How a close ended, in jobs. */
export interface Closed {
  /** Handlers that ended well meanwhile. */
  readonly done: number;
  /** Given back as if they had not been begun. */
  readonly released: number;
  /** Still running: they keep their claim until the process ends, and a late end still counts. */
  readonly stuck: number;
}

/** Receives, keeps, and hands events to handlers. */
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
  /** At least once, before the job is marked dead. One that throws, or takes longer than the handler's `timeoutMs`, is logged. */
  onDead(listener: (job: Job) => unknown): this;
  /**
   * Who decides which subscriptions are unwanted. A decision is answered 422, which deletes the subscription.
   * @throws UsageError `gate-doubled` when there is one already
   */
  unsubscribeWhen(gate: Gate): this;
  /**
   * A tombstone from anywhere; without `source` for every source. Its deliveries are answered 422.
   * @param subscription its number, also as text, as the service gives it
   * @param reason of which 1,000 characters are stored
   * @throws UsageError `subscription-invalid`, `option-invalid`
   */
  unsubscribe(subscription: Id | string, reason: string, options?: { source?: string | undefined }): Promise<void>;
  /**
   * Lifts it; without `source` all of the subscription.
   * @throws UsageError `subscription-invalid`, `option-invalid`
   */
  resubscribe(subscription: Id | string, options?: { source?: string | undefined }): Promise<void>;
  /**
   * This process works, or stands by where the inbox has a worker already; one that never calls it only receives. Seals the handlers.
   * Idempotent.
   * @throws UsageError `secret-missing`, `inbox-cannot-work`
   * @throws ClosedError `closed`
   */
  start(): Promise<void>;
  /** Resolves when nothing is due and nothing is running in this process. */
  idle(): Promise<void>;
  /**
   * New deliveries get 503, nothing new is begun. Signals abort 5 s before the end of `drainMs`; then what has ended or never started
   * is given back. Never throws for handlers that do not end: they are `stuck`.
   * @throws UsageError `option-invalid` for a budget that is none; nothing is closed then
   */
  close(options?: {
    /** The whole budget, milliseconds. @default 10_000 */
    drainMs?: number | undefined;
  }): Promise<Closed>;
  /**
   * How the receiver stands. Never rejects, never waits for storage. An inbox that is not open yet is opened: a process that only
   * receives must not have to wait for its first delivery to be ready for it.
   */
  health(): Promise<Health>;
  /** What was done so far, as a copy. */
  stats(): Stats;
  /** Best effort, never throws into the receiver. Returns its end. */
  observe(observer: Observer): () => void;
  /** Listing, replaying, dropping and erasing jobs by hand. */
  readonly jobs: Jobs;
  /**
   * One request in, one answer out: for one's own mount. Never rejects.
   * @param answering answers after the handlers, instead of as soon as the delivery is stored
   */
  receive(request: RawRequest, answering?: AfterHandlers): Promise<Reply>;
  /**
   * For one's own queue: each event once, in order, without retries of ours.
   * @throws HooklineError `handle-failed` when a handler failed: let the queue give the delivery again
   * @throws UsageError `delivery-invalid`
   */
  handle(delivery: StoredDelivery, options?: { signal?: AbortSignal | undefined }): Promise<void>;
  /** `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}
