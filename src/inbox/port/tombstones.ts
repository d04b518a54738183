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

/** The source that tombstones have for a mount without one: applications with a source may have subscriptions of the same number. */
export const NO_SOURCE = "";

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
