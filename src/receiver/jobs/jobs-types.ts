import type { StoredDelivery } from "../../inbox/port/delivery.ts";
import type { ErasedRows, Job, JobState, JobSummary } from "../../inbox/port/jobs.ts";
import type { EventName, Id } from "../../protocol/event-types.ts";

/** Selects jobs that match every given field. */
export interface JobFilter {
  /**
   * An event name or a family, as in `receiver.on`: `"email"` is created, updated and deleted, `"email.changes"` the signal too, `"*"`
   * everything but `unknown`.
   */
  type?: EventName | undefined;
  accountId?: Id | undefined;
  subscription?: Id | undefined;
  /** The consumer that handles it. */
  consumer?: string | undefined;
  /** The name of its last error, such as `TypeError`: exactly as stored, up to 2,000 characters. */
  error?: string | undefined;
  /** The delivery was received after this time (exclusive). */
  receivedAfter?: Date | undefined;
  /** The delivery was received before this time (exclusive). */
  receivedBefore?: Date | undefined;
}

/** Jobs by their ids, or by a filter that names its state: `{}` cannot mean "all". */
export type Selection = string | readonly string[] | (JobFilter & { state: JobState | readonly JobState[] });

/**
 * Lists, replays, drops and erases the jobs of a receiver's inbox. Works before `start()`, and on a process that never calls it.
 *
 * Every method rejects with UsageError `jobs-invalid` for invalid arguments and `inbox-cannot-work` on an inbox that only forwards, and
 * with ClosedError `closed` after `close()`.
 */
export interface Jobs {
  /**
   * Lists jobs in the order of their creation, page by page: `next` is the `after` of the next page, absent on the last one.
   * @throws UsageError `jobs-invalid`
   * @example
   * const { jobs, next } = await receiver.jobs.list({ state: "dead", type: "email" });
   */
  list(
    filter?: JobFilter & {
      state?: JobState | readonly JobState[] | undefined;
      /** Jobs a page. @default 50, at most 1_000 */
      limit?: number | undefined;
      /** The `next` of the page before. @default the first page */
      after?: string | undefined;
      /** The latest created first, with `state: "dead"` alone. @default false */
      newestFirst?: boolean | undefined;
    },
  ): Promise<{ readonly jobs: readonly Job[]; readonly next?: string }>;
  /**
   * Counts jobs by consumer, type and name of the last error: the largest groups first, at most 100. Counts of dead and unhandled jobs, by
   * no more than type, consumer and error, are kept by `sqliteInbox` and `postgresInbox`; for all others the jobs are read, as `list` does.
   * @throws UsageError `jobs-invalid`
   * @throws ClosedError `closed` when the receiver closes meanwhile
   * @example
   * const { groups } = await receiver.jobs.summary({ state: "dead" });
   */
  summary(filter?: JobFilter & { state?: JobState | readonly JobState[] | undefined }): Promise<JobSummary>;
  /**
   * One job with the stored bytes of its delivery, as `receiver.handle` and `verify` take them; `undefined` if there is none.
   * @throws UsageError `jobs-invalid`
   */
  get(id: string): Promise<(Job & { readonly delivery?: StoredDelivery }) | undefined>;
  /**
   * Creates a new job at the tail of its lane for each selected one that is done, dead or unhandled and has a consumer; ignores
   * others. A replayed job that fails again meanwhile is not replayed a second time.
   * @param options `perSecond`: jobs, by the receiver's clock @default no limit; `dryRun`: only counts @default false
   * @throws UsageError `jobs-invalid`
   * @throws ClosedError `closed` when the receiver closes meanwhile: its message says how many were replayed
   * @example
   * await receiver.jobs.replay({ state: "dead", accountId: 2002 }, { perSecond: 10 });
   */
  replay(
    selection: Selection,
    options?: { perSecond?: number | undefined; dryRun?: boolean | undefined },
  ): Promise<{ readonly count: number }>;
  /**
   * Removes waiting, dead and unhandled jobs; ignores others. Jobs behind a removed one in its lane go on.
   * @param options `dryRun`: only counts @default false
   * @throws UsageError `jobs-invalid`
   * @throws ClosedError `closed` when the receiver closes meanwhile: its message says how many were dropped
   */
  drop(selection: Selection, options?: { dryRun?: boolean | undefined }): Promise<{ readonly count: number }>;
  /**
   * Removes every job and every stored delivery of one account, whatever their state. Running handlers get an aborted signal, and their
   * results are ignored. Tombstones of its subscriptions stay, without their reasons.
   * @throws UsageError `jobs-invalid`
   */
  erase(accountId: Id): Promise<Erasure>;
}

/** What an erasure has deleted, and where copies may remain. */
export interface Erasure extends ErasedRows {
  readonly remaining: readonly Remaining[];
}

/** A place that an erasure does not reach. */
export interface Remaining {
  /**
   * `wal`: rows that PostgreSQL has not overwritten yet, and its write-ahead log; `backups` and snapshots; `queue`: one in front; `log`: this
   * receiver's and the database's.
   */
  readonly where: "wal" | "backups" | "queue" | "log";
  /** Absent where it is not known. */
  readonly until?: Date;
}
