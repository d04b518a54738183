import type { Claim, ClaimedJob } from "./claims.ts";

/** Settles jobs in a transaction of the application, on the database that the inbox is in: what the transaction does happens once. */
export interface Transactional {
  /**
   * Ends the jobs as part of the transaction: they are done once it commits. The claim stays as it is, also after a rollback.
   * @throws HooklineError `claim-lost` where the claim has ended: the transaction must roll back
   */
  complete(call: CompletedCall, transaction: SqlTransaction): Promise<void>;
  /**
   * Whether that transaction was committed. After a commit `settle` accepts `done` for these jobs.
   * @returns undefined where it is still open after a short wait: it is asked again at once
   * @throws StorageError where it is not known
   */
  isCompleted(call: CompletedCall): Promise<boolean | undefined>;
}

/** A call of a handler, with its jobs: all of the claim's, or the first ones. */
export interface CompletedCall {
  readonly claim: Claim;
  readonly jobs: readonly ClaimedJob[];
}

/** A client with an open transaction. Values of the statement are `$1`, `$2` ... */
export interface SqlTransaction {
  /** Runs one statement in it. */
  query(
    text: string,
    values: unknown[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount?: number | null | undefined }>;
}

/** What a context offers to `complete`. */
export interface Completion {
  /** Of the inbox that the context's jobs are in. @throws HooklineError `claim-lost` */
  complete(transaction: SqlTransaction): Promise<void>;
}

/** By the context itself: it has no member that could be mistaken for the user's. */
const completions = new WeakMap<object, Completion>();

/** Makes the jobs of a context completable. */
export function offerCompletion(ctx: object, completion: Completion): void {
  completions.set(ctx, completion);
}

/** Undefined for a context of an inbox without transactions, and for anything else. */
export function completionOf(ctx: object): Completion | undefined {
  return completions.get(ctx);
}
