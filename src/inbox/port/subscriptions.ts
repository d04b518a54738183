/** What the newest lifecycle notice said of each resource of a subscription, of a thousand of them. */
export interface Subscriptions {
  /** Those in trouble, in the order in which they were told. Synchronous, from a copy that each look renews: asked at every health check. */
  errored(): readonly ErroredSubscription[];
  /** It is unwanted now: no `active` will come. Without a source: of every source. */
  forget(subscription: number, source: string | undefined): Promise<void>;
}

/** One in trouble. */
export interface ErroredSubscription {
  readonly subscription: number;
  readonly accountId: number;
  readonly resource: string;
  readonly source: string | undefined;
  /** The service's own words; may be empty. */
  readonly error: string;
}

/** The durable notes that subscriptions are unwanted. */
export interface Tombstones {
  /** True when there is none at all: nothing needs to be looked up. */
  readonly isEmpty: boolean;
  /** Synchronous, from a copy that is at most 1 s old; a hit keeps the tombstone for another 30 days. */
  find(subscription: number, source: string | undefined): Tombstone | undefined;
  /** Resolves when durable. Without a source it stands for every source. What a lifecycle notice said of the subscription is forgotten. */
  put(tombstone: {
    readonly subscription: number;
    readonly source: string | undefined;
    readonly reason: string;
  }): Promise<void>;
  /** Without a source: every tombstone of the subscription. */
  lift(subscription: number, source: string | undefined): Promise<void>;
  /** All that stand. */
  list(): Promise<readonly Tombstone[]>;
}

/** The note that one subscription is unwanted. */
export interface Tombstone {
  readonly subscription: number;
  /** Undefined: every source. */
  readonly source: string | undefined;
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly lastHit: number;
}
