/**
 * The only thing that becomes a 422, which deletes a subscription. It can be made here alone: no value that only looks like it,
 * no `true`, no error with a status of 422 is one.
 */
export class Decision {
  readonly #subscription: number;
  readonly reason: string;

  constructor(subscription: number, reason: string) {
    this.#subscription = subscription;
    this.reason = reason;
  }

  /** Whether it was made for this subscription, here. */
  static holds(value: unknown, subscription: number): value is Decision {
    return (
      typeof value === "object" && value !== null && #subscription in value && value.#subscription === subscription
    );
  }
}

declare const decision: unique symbol;

/** What `unsubscribe` of a gate gives, and nothing else is. */
export interface UnsubscribeDecision {
  readonly [decision]: true;
  readonly reason: string;
}
