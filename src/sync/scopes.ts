import type { Id } from "../index.ts";

/** What is being synced. */
export interface SyncScope {
  readonly accountId: Id;
  /** As the subscription names it, such as `/email/messages`. */
  readonly resource: string;
  /** Aborts when the time of a handler is up, or the receiver closes. */
  readonly signal: AbortSignal;
}

/** Where records are applied or removed. */
export interface ApplyScope extends SyncScope {
  /**
   * What the token store is given once the call has resolved. Written to it in the transaction of the records, records and token are one
   * commit; the store is given it again afterwards.
   */
  readonly saves: { readonly key: string; readonly token: string };
}

/** Where the ids of a copy are asked for. */
export interface KnownScope extends SyncScope {
  /** Of the sync that begins now: records outside of it are not listed. Undefined: no limit. */
  readonly window: { readonly from: Date | undefined; readonly until: Date | undefined };
}
