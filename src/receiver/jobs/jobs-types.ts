import type { StoredDelivery } from "../../inbox/port/delivery.ts";
import type { Job, JobState } from "../../inbox/port/job.ts";
import type { EventName, Id } from "../../protocol/events.ts";

/** Which jobs: all that is given must hold. */
export interface JobFilter {
  /**
   * The name of an event, or a wider one as `receiver.on` takes it: `"email"` is created, updated and deleted, `"email.changes"` the
   * signal too, `"*"` everything but `unknown`.
   */
  type?: EventName | undefined;
  accountId?: Id | undefined;
  subscription?: Id | undefined;
  /** Who handles it, or would. */
  consumer?: string | undefined;
  /** Its delivery was received after this moment, not at it. */
  receivedAfter?: Date | undefined;
  /** Its delivery was received before this moment, not at it. */
  receivedBefore?: Date | undefined;
}

/** Jobs by their ids, or by a filter that names its state: `{}` cannot mean "all". */
export type Selection = string | readonly string[] | (JobFilter & { state: JobState | readonly JobState[] });

/**
 * The jobs of a receiver's inbox, to look at and to change by hand. Works before `start()`, and on a process that never calls it.
 *
 * Every verb rejects with UsageError `jobs-invalid` for what it cannot take and `inbox-cannot-work` on an inbox that only hands on,
 * and with ClosedError `closed` after `close()`.
 */
export interface Jobs {
  /**
   * Jobs in the order in which they were made, page by page: `next` is the `after` of the next page, absent on the last one.
   * @throws UsageError `jobs-invalid`
   * @example
   * const { jobs, next } = await receiver.jobs.list({ state: "dead", type: "email" });
   */
  list(
    filter?: JobFilter & {
      state?: JobState | readonly JobState[] | undefined;
      /** Jobs a page. @default 50, at most 1_000 */
      limit?: number | undefined;
      /** What `next` said. @default from the first one */
      after?: string | undefined;
    },
  ): Promise<{ readonly jobs: readonly Job[]; readonly next?: string }>;
  /**
   * One job with the stored bytes of its delivery, as `receiver.handle` and `verify` take them; `undefined` where it is not there.
   * @throws UsageError `jobs-invalid`
   */
  get(id: string): Promise<(Job & { readonly delivery: StoredDelivery }) | undefined>;
  /**
   * A new job at the tail of its lane for each that is done, skipped, dead or unhandled and has a consumer; others are left. Takes
   * what is there at the call: what dies anew meanwhile is not replayed a second time.
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
   * Takes away waiting, dead and unhandled jobs; a running one is left. What waited behind one in its lane goes on.
   * @param options `dryRun`: only counts @default false
   * @throws UsageError `jobs-invalid`
   * @throws ClosedError `closed` when the receiver closes meanwhile: its message says how many were dropped
   */
  drop(selection: Selection, options?: { dryRun?: boolean | undefined }): Promise<{ readonly count: number }>;
  /**
   * Takes away every job and every stored delivery of one account, whatever their state. Its running handlers are told to stop, and
   * what becomes of them does not count.
   * @throws UsageError `jobs-invalid`
   */
  erase(accountId: Id): Promise<{ readonly count: number }>;
}
