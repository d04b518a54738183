/**
 * The only thing that becomes a 422, which deletes a subscription. It can be made here alone: no value that only looks like it,
 * no `true`, no error with a status of 422 is one.
 */
export class Decision {
  /** What it was made for: one delivery. A gate that remembers one must not delete the next subscription with it. */
  readonly #call: unknown;
  readonly reason: string;

  constructor(call: unknown, reason: string) {
    this.#call = call;
    this.reason = reason;
  }

  /** Whether it was made for this call, here. */
  static holds(value: unknown, call: unknown): value is Decision {
    return typeof value === "object" && value !== null && #call in value && value.#call === call;
  }
}

declare const decision: unique symbol;

/** What `unsubscribe` of a gate gives, and nothing else is. */
export interface UnsubscribeDecision {
  readonly [decision]: true;
  readonly reason: string;
}
