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
