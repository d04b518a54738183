/** What a subscription delivers: a resource of an account, through a source. */
export interface SubscribedResource {
  readonly source: string | undefined;
  readonly subscription: number;
  readonly accountId: number;
  /** As the wire writes it, such as `/email/messages`. */
  readonly resource: string;
  /** Of its events, such as `email`; `unknown` for a resource that is not known. */
  readonly family: string;
}

/**
 * Why something may be missing: deliveries were refused; no process was there (`down`); the service reported an error of the subscription;
 * nothing came for longer than usual; the subscription did not exist.
 */
export type GapCause = "refused" | "down" | "errored" | "silent" | "gone";

/** A window in which something of a resource may be missing. Times in milliseconds since the epoch. */
export interface Gap extends SubscribedResource {
  readonly cause: GapCause;
  readonly from: number;
  /** Undefined: it goes on. Only that of an error does. */
  readonly until: number | undefined;
}

/** Gaps of one family. */
export interface GapCount {
  readonly family: string;
  readonly count: number;
  /** Those that go on, of them. */
  readonly open: number;
  /** The earliest. */
  readonly from: number;
  /** The latest; undefined where all go on. */
  readonly until: number | undefined;
}

/**
 * A resource that was not seen for so long before the last mark is forgotten with the next one, unless it has a gap: 90 days, milliseconds.
 * Time in which no process was there does not count, nor does a leap of the clock.
 */
export const RESOURCE_LIFE_MS: number = 90 * 86_400_000;

/** The resources that deliveries came for, and where something of them may be missing. Any process may write: all of it is durable when it resolves. */
export interface Gaps {
  /** Resources that deliveries came for until then. */
  seen(resources: readonly SubscribedResource[], at: number): Promise<void>;
  /** Forgets resources and gaps of a subscription. Without a source: in every source. */
  forget(subscription: number, source: string | undefined): Promise<void>;
  /** Without a source: in every source. */
  resourcesOf(subscription: number, source: string | undefined): Promise<readonly SubscribedResource[]>;
  /**
   * A resource has one gap: from the earliest until the latest. One that goes on ends with one of the same cause that has an end. So does a
   * later gap of the causes `refused`, `down` and `gone`, in which the end may have been lost. The end of an error tells from its last notice
   * on. An error that is not newer than the last notice of the resource, and an end that is older, are ignored. A resource that is not known
   * is, from then on.
   */
  add(gaps: readonly Gap[]): Promise<void>;
  /** At most `limit`, after `after`; `next` is the `after` of the next page. */
  find(query: GapQuery): Promise<{ readonly gaps: readonly Gap[]; readonly next?: string }>;
  /** How many there are, by family. */
  count(): Promise<readonly GapCount[]>;
  /**
   * Something was done about them: they are removed, and what other subscriptions have for the same source, account and resource. A gap
   * that meanwhile reaches further than the given one stays.
   */
  remove(gaps: readonly Gap[]): Promise<void>;
  /**
   * Marks that a process is alive. Where the last mark is older than `afterMs`, each resource gets a gap of the cause `down` from that mark
   * until this one, in the same step: of several processes one finds it.
   * @returns the time of that mark; undefined where there is no such gap
   */
  mark(alive: { readonly at: number; readonly afterMs: number }): Promise<number | undefined>;
  /** Where many work: whether this process is the one that does something about them. */
  isMine(): boolean;
}

/** Selects gaps that meet all given conditions. */
export interface GapQuery {
  readonly families?: readonly string[] | undefined;
  readonly accountId?: number | undefined;
  /** Those alone that have ended. */
  readonly hasEnded?: boolean | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}
