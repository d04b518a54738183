import type { GapCause } from "../../inbox/port/gaps.ts";
import type { LiveWorker } from "../../inbox/port/inbox.ts";
import type { Job } from "../../inbox/port/jobs.ts";
import type { Id } from "../../protocol/event-types.ts";

/** A lane that waits for the next attempt of its first job, or a job without a lane that does. */
export interface BlockedLane {
  /** The first job of the lane: its `lane`, `consumer`, `lastError` and `nextAttemptAt` are those of the lane. */
  readonly job: Job;
  /** Jobs that wait behind it: at least so many, where counting all would cost too much. */
  readonly behind: number;
}

/** A subscription that is answered 422. */
export interface TombstoneInfo {
  readonly subscription: Id;
  /** `""`: that of mounts without one. Absent: every source. */
  readonly source?: string;
  /** Up to 1,000 characters; may hold content. */
  readonly reason: string;
  readonly since: Date;
  /** When a delivery of it was last answered 422: it expires 30 days later. */
  readonly lastHit: Date;
}

/** A window in which something of a resource may be missing. */
export interface GapInfo {
  readonly source?: string;
  readonly subscription: Id;
  readonly accountId: Id;
  /** As the wire writes it, such as `/email/messages`; that of a calendar may hold an address. */
  readonly resource: string;
  /** Of its events, such as `email`; `unknown` for a resource that is not known. */
  readonly family: string;
  readonly cause: GapCause;
  readonly from: Date;
  /** Absent: it goes on. */
  readonly until?: Date;
}

/** A subscription whose newest lifecycle notice is an error. */
export interface ErroredSubscriptionInfo {
  readonly subscription: Id;
  readonly source?: string;
  readonly accountId: Id;
  readonly resource: string;
  /** The service's own text, up to 2,000 characters; may be empty. */
  readonly error: string;
  /** When the service sent the notice. */
  readonly since?: Date;
}

/**
 * What an inbox knows beside jobs. Works before `start()`, and on a process that never calls it.
 *
 * Every method rejects with UsageError `option-invalid` for invalid arguments and `inbox-cannot-work` on an inbox that only forwards, and
 * with ClosedError `closed` after `close()`.
 */
export interface ReceiverLists {
  /**
   * Blocked lanes, that of the soonest attempt first, page by page: `next` is the `after` of the next page, absent on the last one. Of an
   * inbox that does not know them, such as `memoryInbox`, those of the first 10,000 open jobs.
   */
  blockedLanes(page?: {
    /** Lanes a page. @default 50, at most 1_000 */
    limit?: number | undefined;
    /** The `next` of the page before. @default the first page */
    after?: string | undefined;
  }): Promise<{ readonly lanes: readonly BlockedLane[]; readonly next?: string }>;
  /** All tombstones that have not expired. */
  tombstones(): Promise<readonly TombstoneInfo[]>;
  /** Gaps, page by page; none where the inbox records none. */
  gaps(page?: {
    /** Gaps of these families. @default all */
    families?: readonly string[] | undefined;
    accountId?: Id | undefined;
    /** Gaps a page. @default 50, at most 1_000 */
    limit?: number | undefined;
    /** The `next` of the page before. @default the first page */
    after?: string | undefined;
  }): Promise<{ readonly gaps: readonly GapInfo[]; readonly next?: string }>;
  /**
   * Forgets gaps, as `gaps()` gave them: somebody has compared, or nothing is missing. Gaps that other subscriptions have for the same
   * source, account and resource go too; one that meanwhile reaches further stays.
   */
  clearGaps(gaps: readonly GapInfo[]): Promise<void>;
  /** At most 1,000, in the order of their notices. */
  erroredSubscriptions(): Promise<readonly ErroredSubscriptionInfo[]>;
  /** The processes that work on the inbox, where many may, such as with `postgresInbox`; none on others. */
  workers(): Promise<readonly LiveWorker[]>;
}
