/** The newest lifecycle notice of each resource of a subscription, for up to a thousand of them. */
export interface Subscriptions {
  /** Those in error, in the order of their notices. Synchronous, from a cache that each call refreshes: every health check calls it. */
  errored(): readonly ErroredSubscription[];
  /** Forgets an unwanted subscription, which will never become `active`. Without a source: in every source. */
  forget(subscription: number, source: string | undefined): Promise<void>;
}

/** A subscription whose newest notice is an error. */
export interface ErroredSubscription {
  readonly subscription: number;
  readonly accountId: number;
  readonly resource: string;
  readonly source: string | undefined;
  /** The service's own text; may be empty. */
  readonly error: string;
}

/** Durable notes that subscriptions are unwanted. */
export interface Tombstones {
  /** True when there are no tombstones: no lookup is needed. */
  readonly isEmpty: boolean;
  /** Synchronous, from a cache at most 1 s old; a hit keeps the tombstone for another 30 days. */
  find(subscription: number, source: string | undefined): Tombstone | undefined;
  /** Resolves when durable. Without a source the tombstone is for every source. The lifecycle notices of the subscription are forgotten. */
  put(tombstone: {
    readonly subscription: number;
    readonly source: string | undefined;
    readonly reason: string;
  }): Promise<void>;
  /** Without a source: every tombstone of the subscription. */
  lift(subscription: number, source: string | undefined): Promise<void>;
  /** All tombstones that have not expired. */
  list(): Promise<readonly Tombstone[]>;
}

/** A tombstone expires this long after its last hit: the service has stopped sending. */
export const TOMBSTONE_LIFE_MS: number = 30 * 24 * 60 * 60 * 1_000;

/** A durable note that one subscription is unwanted. */
export interface Tombstone {
  readonly subscription: number;
  /** Undefined: every source. */
  readonly source: string | undefined;
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly lastHit: number;
}
