import type { AnyEvent, SingleEvent } from "../../protocol/events.ts";
import type { JobError } from "./claims.ts";
import type { Delivery, StoredDelivery, NewJob } from "./delivery.ts";

/**
 * Where a job stands: `waiting` for its turn or its retry, `running`, `done`, `skipped` (no handler for this change, but one for
 * its family), `dead` (out of attempts), `unhandled` (nobody handles such an event yet).
 */
export type JobState = "waiting" | "running" | "done" | "skipped" | "dead" | "unhandled";

/** One event on its way to one consumer's handler: the unit of retry, order, dead letter and replay. */
export interface Job {
  readonly id: string;
  readonly state: JobState;
  readonly event: AnyEvent;
  /** Who handles it; absent when nobody does. */
  readonly consumer?: string;
  /** What it may not overlap with; absent when nothing. */
  readonly lane?: string;
  /** Attempts begun. Absent once done. */
  readonly attempts?: number;
  readonly lastError?: { readonly name: string; readonly message: string; readonly at: Date };
  readonly receivedAt: Date;
  readonly nextAttemptAt?: Date;
  readonly settledAt?: Date;
  /** The job that this one replays. */
  readonly replayOf?: string;
  readonly deliveryId: string;
}

/** Looking inside, and changing by hand. */
export interface InboxJobs {
  /** In the order of ids, at most `limit` after `after`; `next` goes on. */
  find(
    query: JobQuery & { readonly after?: string | undefined; readonly limit: number },
  ): Promise<{ readonly jobs: readonly StoredJob[]; readonly next?: string }>;
  /** One job with the stored bytes of its delivery. */
  get(id: string): Promise<{ readonly job: StoredJob; readonly delivery: StoredDelivery } | undefined>;
  /** A new job at the tail of the lane for each, past the unique keys. Takes settled and unhandled jobs that have a consumer. */
  replay(selection: JobSelection): Promise<number>;
  /** Takes waiting, dead and unhandled jobs; a running one is left. */
  drop(selection: JobSelection): Promise<number>;
  /**
   * Every job and delivery of the account, whatever their state, unexpanded ones too; running claims are lost. Their lanes stay closed until
   * they are settled all the same, because a handler may ignore its signal. What lifecycle notices said of its subscriptions goes too.
   */
  erase(accountId: number): Promise<number>;
  /** Unhandled jobs, in the order of ids. */
  unhandled(page: { readonly after?: string | undefined; readonly limit: number }): Promise<readonly UnhandledJob[]>;
  /** Replaces an unhandled job by jobs for those who handle it now, atomically. */
  reopen(replacements: readonly { readonly id: string; readonly jobs: readonly NewJob[] }[]): Promise<void>;
}

/** A job that waits for somebody to handle its event. */
export interface UnhandledJob {
  readonly id: string;
  readonly event: SingleEvent | undefined;
  readonly entry: number;
  /** Whose handler went; undefined when nobody ever had one. */
  readonly consumer: string | undefined;
  readonly delivery: Delivery;
}

/** Which jobs: all that are given must hold. */
export interface JobQuery {
  readonly states?: readonly JobState[] | undefined;
  /** Types of events. */
  readonly types?: readonly string[] | undefined;
  readonly accountId?: number | undefined;
  readonly subscription?: number | undefined;
  readonly consumer?: string | undefined;
  /** Milliseconds since the epoch; after it, not at it. */
  readonly receivedAfter?: number | undefined;
  readonly receivedBefore?: number | undefined;
}

/** Jobs by their ids, or by a query that names its states. */
export type JobSelection = { readonly ids: readonly string[] } | (JobQuery & { readonly states: readonly JobState[] });

/** A job as an inbox knows it. */
export interface StoredJob {
  readonly id: string;
  readonly deliveryId: string;
  readonly entry: number;
  readonly state: JobState;
  readonly event: SingleEvent | undefined;
  readonly consumer: string | undefined;
  readonly lane: string | undefined;
  readonly attempts: number;
  readonly error: JobError | undefined;
  readonly receivedAt: number;
  readonly runAt: number | undefined;
  readonly settledAt: number | undefined;
  readonly replayOf: string | undefined;
}
