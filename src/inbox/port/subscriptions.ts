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
