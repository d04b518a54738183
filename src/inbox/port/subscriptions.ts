/** The newest lifecycle notice of each resource of a subscription, for up to a thousand of them. */
export interface Subscriptions {
  /** Those in error, in the order of their notices. Synchronous, from a cache that each call refreshes: every health check calls it. */
  errored(): readonly ErroredSubscription[];
  /** Forgets an unwanted subscription, which will never become `active`. Without a source: in every source. */
  forget(subscription: number, source: string | undefined): Promise<void>;
  /** Records what was learnt without a notice, such as by asking the service, as a notice sent at that time. Resolves when durable. */
  record(notice: LifecycleNotice, origin: NoticeOrigin): Promise<void>;
  /** All that are recorded, those that work included, in the order of their notices. */
  known(): Promise<readonly KnownSubscription[]>;
}

/** The content of a lifecycle notice. */
export interface LifecycleNotice {
  readonly subscription: number;
  readonly accountId: number;
  readonly resource: string;
  /** Undefined: the subscription is active. */
  readonly error: string | undefined;
}

/** Where a notice came from. */
export interface NoticeOrigin {
  readonly source: string | undefined;
  /** Milliseconds since the epoch. */
  readonly sentAt: number;
}

/** A subscription whose newest notice is recorded. */
export interface KnownSubscription extends LifecycleNotice, Pick<NoticeOrigin, "source"> {
  /** When the notice was sent, milliseconds since the epoch, where the inbox keeps that. */
  readonly sentAt?: number;
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
