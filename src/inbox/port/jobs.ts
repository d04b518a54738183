import type { AnyEvent, SingleEvent } from "../../protocol/event-types.ts";
import type { JobError } from "./claims.ts";
import type { Delivery, NewJob, StoredDelivery } from "./delivery.ts";

/**
 * `waiting` for its turn or its retry, `running`, `done`, `skipped` (no handler for this change, but one for its family), `dead`
 * (out of attempts), `unhandled` (no handler for such an event yet).
 */
export type JobState = "waiting" | "running" | "done" | "skipped" | "dead" | "unhandled";

/** One event on its way to one consumer's handler: the unit of retry, order, dead letter and replay. */
export interface Job {
  readonly id: string;
  readonly state: JobState;
  readonly event: AnyEvent;
  /** Absent when no consumer handles the event. */
  readonly consumer?: string;
  /** Jobs of one lane never overlap; absent when the job is in none. */
  readonly lane?: string;
  /** Attempts that started. Absent once done. */
  readonly attempts?: number;
  readonly lastError?: { readonly name: string; readonly message: string; readonly at: Date };
  readonly receivedAt: Date;
  readonly nextAttemptAt?: Date;
  readonly settledAt?: Date;
  /** The job that this one replays. */
  readonly replayOf?: string;
  readonly deliveryId: string;
}

/** Queries and admin commands. */
export interface InboxJobs {
  /** At most `limit` jobs after `after`, in the order of ids; `next` is the `after` of the next page. */
  find(
    query: JobQuery & {
      readonly after?: string | undefined;
      readonly limit: number;
      /** The highest id first, and `after` counts down. Asked for with the one state `dead` alone. */
      readonly newestFirst?: boolean | undefined;
    },
  ): Promise<{ readonly jobs: readonly StoredJob[]; readonly next?: string }>;
  /** A job with the stored bytes of its delivery; without them where an option of the inbox has deleted the body. */
  get(id: string): Promise<{ readonly job: StoredJob; readonly delivery: StoredDelivery | undefined } | undefined>;
  /** Adds a new job at the tail of the lane for each, ignoring unique keys. Takes settled and unhandled jobs that have a consumer, and a body. */
  replay(selection: JobSelection): Promise<number>;
  /** Deletes waiting, dead and unhandled jobs; running ones stay. */
  drop(selection: JobSelection): Promise<number>;
  /**
   * Deletes every job and delivery of the account in any state, unexpanded deliveries too; running claims are lost. The lane of a lost claim
   * stays closed until the claim is settled, because a handler may ignore its signal. Lifecycle notices and gaps of the account are deleted too.
   * Tombstones of its subscriptions stay, and pauses of the account, with {@link ERASED_REASON} instead of their own.
   */
  erase(accountId: number): Promise<ErasedRows>;
  /**
   * Unhandled jobs after `after` whose type is handled now, in the order of ids: by any consumer where the job has none, else by its own.
   * At most `limit`, fewer where their deliveries are long; an empty page is the end. Where many work, those alone that are this process's
   * to look at.
   */
  unhandled(page: {
    readonly handled: readonly HandledType[];
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<readonly UnhandledJob[]>;
  /**
   * Replaces unhandled jobs by jobs of their current consumers, at the tails of their lanes: all in one atomic commit. The new ones are of
   * the type, account and subscription of `event`, where it is given: an earlier version may have stored it as `unknown`.
   */
  reopen(replacements: readonly Reopened[]): Promise<void>;
  /**
   * Counts jobs where that costs less than reading them, such as from counts that are kept. Undefined, or a result of undefined: the receiver
   * reads what `find` gives.
   */
  summary?(query: JobQuery): Promise<JobSummary | undefined>;
  /**
   * The heads of lanes that wait for their next attempt, which is after `now`, by its time and then by their ids; jobs without a lane too.
   * Undefined: the receiver looks at the first 10,000 open jobs.
   */
  blocked?(page: BlockedQuery): Promise<readonly StoredBlocked[]>;
}

/** What an erasure has deleted. */
export interface ErasedRows {
  /** Jobs that were not done, and deliveries that were not expanded. */
  readonly count: number;
  readonly deliveries: number;
  /** Their reasons: they stay, because they refuse what the account's subscriptions still deliver. */
  readonly tombstones: number;
  /** Their reasons: the account stays paused. */
  readonly pauses: number;
  /** Of the service, about subscriptions. */
  readonly notices: number;
  /** That subscriptions delivered, with their gaps. */
  readonly resources: number;
  /** Of delta syncs, and other texts of the account. */
  readonly tokens: number;
}

/** Nothing was there to erase. */
export const NOTHING_ERASED: ErasedRows = {
  count: 0,
  deliveries: 0,
  tombstones: 0,
  pauses: 0,
  notices: 0,
  resources: 0,
  tokens: 0,
};

/** The sum of two reports, such as of the pages of one erasure. An earlier release may have begun it, which counted less. */
export function addErased(one: Partial<ErasedRows>, other: Partial<ErasedRows>): ErasedRows {
  const sum = (name: keyof ErasedRows): number => (one[name] ?? 0) + (other[name] ?? 0);
  return {
    count: sum("count"),
    deliveries: sum("deliveries"),
    tombstones: sum("tombstones"),
    pauses: sum("pauses"),
    notices: sum("notices"),
    resources: sum("resources"),
    tokens: sum("tokens"),
  };
}

/** The reason of a tombstone or a pause whose account was erased: the one that was given may say who that was. */
export const ERASED_REASON = "its account was erased";

/** Selects a page of heads of lanes. */
export interface BlockedQuery {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The last one of the page before. */
  readonly after?: Pick<StoredJob, "id" | "runAt"> | undefined;
  readonly limit: number;
}

/** The head of a lane that waits for its next attempt. */
export interface StoredBlocked {
  readonly job: StoredJob;
  /** Waiting jobs behind it in its lane: at least so many, where counting all would cost too much. */
  readonly behind: number;
}

/** Counts of jobs. */
export interface JobSummary {
  /** The largest first, at most {@link MOST_GROUPS}. */
  readonly groups: readonly JobGroup[];
  /** All jobs that are counted. */
  readonly count: number;
  /** There are more groups than are given. */
  readonly isCut: boolean;
}

/** Groups in a summary. */
export const MOST_GROUPS = 100;

/** Jobs of one consumer, type and name of the last error. */
export interface JobGroup {
  /** Absent where no consumer handled them. */
  readonly consumer?: string;
  /** Of their events. */
  readonly type: string;
  /** The name of their last error, such as `TypeError`; absent where they have none. */
  readonly error?: string;
  readonly count: number;
  /** When the newest failed or ended; it may have been removed since. */
  readonly newestAt?: Date;
}

/** A type of event that a consumer handles. */
export interface HandledType {
  readonly type: string;
  readonly consumer: string;
}

/** A job that waits for a handler of its event. */
export interface UnhandledJob {
  readonly id: string;
  readonly event: SingleEvent | undefined;
  readonly entry: number;
  /** The consumer that no longer has a handler; undefined when no consumer ever had one. */
  readonly consumer: string | undefined;
  readonly delivery: Delivery;
}

/** One of them, with the jobs that take its place. */
export interface Reopened {
  readonly id: string;
  readonly jobs: readonly NewJob[];
  readonly event?: SingleEvent | undefined;
}

/** Selects jobs that meet all given conditions. */
export interface JobQuery {
  readonly states?: readonly JobState[] | undefined;
  /** Types of events. */
  readonly types?: readonly string[] | undefined;
  readonly accountId?: number | undefined;
  readonly subscription?: number | undefined;
  readonly consumer?: string | undefined;
  /** The name of the last error. */
  readonly error?: string | undefined;
  /** Milliseconds since the epoch, exclusive. */
  readonly receivedAfter?: number | undefined;
  readonly receivedBefore?: number | undefined;
}

/** Jobs by ids, or by a query that names states. */
export type JobSelection = { readonly ids: readonly string[] } | (JobQuery & { readonly states: readonly JobState[] });

/** A job as an inbox returns it. */
export interface StoredJob {
  readonly id: string;
  readonly deliveryId: string;
  readonly entry: number;
  readonly state: JobState;
  readonly event: SingleEvent | undefined;
  /** Of its event; needed where that is not given. */
  readonly type?: string | undefined;
  readonly consumer: string | undefined;
  readonly lane: string | undefined;
  readonly attempts: number;
  readonly error: JobError | undefined;
  readonly receivedAt: number;
  readonly runAt: number | undefined;
  readonly settledAt: number | undefined;
  readonly replayOf: string | undefined;
}
