import type { Clock } from "../clock.ts";

/** Options of a client, and of each of its calls. */
export interface RequestOptions {
  /** Ends the call: it rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** For one attempt, from sending the request to the end of its answer, milliseconds. @default 30_000 */
  timeoutMs?: number | undefined;
  /** Of calls that may be repeated without harm, after 408, 429, 5xx, and when no answer came. False: one attempt. */
  retry?: false | RetryOptions | undefined;
}

/** How a call is repeated. */
export interface RetryOptions {
  /** Attempts in all. @default 4 */
  attempts?: number | undefined;
  /** No attempt begins later than this after the first one: a longer `Retry-After` fails the call at once. Milliseconds. @default 20_000 */
  budgetMs?: number | undefined;
}

/** Options of a client alone. */
export interface ConnectionOptions extends RequestOptions {
  /** Sends the requests. @default the runtime's own */
  fetch?: typeof globalThis.fetch | undefined;
  /** Times the waits and timeouts. @default the machine's */
  clock?: Clock | undefined;
}
