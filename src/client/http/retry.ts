import { wholeNumber } from "../../assert.ts";
import type { ServiceError } from "../errors.ts";
import type { RequestOptions } from "../request-options.ts";

/** How often a call is attempted, and for how long. */
export interface RetryLimits {
  /** Attempts in all. */
  readonly attempts: number;
  /** No attempt begins later than this after the first one, milliseconds. */
  readonly budgetMs: number;
}

const DEFAULT_ATTEMPTS = 4;
const DEFAULT_BUDGET_MS = 20_000;

/** The first wait is at most this long, each further one twice as long, milliseconds. */
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 8_000;

/** @throws UsageError `option-invalid` */
export function resolveRetry(retry: RequestOptions["retry"]): RetryLimits {
  if (retry === false) return { attempts: 1, budgetMs: 0 };
  const { attempts = DEFAULT_ATTEMPTS, budgetMs = DEFAULT_BUDGET_MS } = retry ?? {};
  return {
    attempts: wholeNumber({ where: "retry", name: "attempts", value: attempts, least: 1 }),
    budgetMs: wholeNumber({ where: "retry", name: "budgetMs", value: budgetMs, least: 0 }),
  };
}

const REPEATABLE = new Set(["GET", "HEAD", "PUT", "DELETE"]);

/** Whether a second request changes nothing that the first one did not. */
export function isRepeatable({
  method,
  repeatable = REPEATABLE.has(method),
}: {
  readonly method: string;
  readonly repeatable?: boolean | undefined;
}): boolean {
  return repeatable;
}

/** Whether a call that failed is attempted again: it may fare better later (408, 429, 5xx, no answer), and changes nothing twice. */
export function mayRetry(call: Parameters<typeof isRepeatable>[0], { status }: ServiceError): boolean {
  return isRepeatable(call) && (status === 0 || status === 408 || status === 429 || status >= 500);
}

/**
 * The wait after the attempt of this number failed: what the service asked for, and on top of it full jitter, so that calls which
 * failed together do not come back together.
 *
 * @param attempt from 1
 * @param random from 0 to below 1
 * @returns milliseconds
 */
export function retryDelayMs(
  attempt: number,
  { retryAfterMs = 0 }: Pick<ServiceError, "retryAfterMs">,
  random: number,
): number {
  const longest = Math.min(FIRST_DELAY_MS * 2 ** Math.min(attempt - 1, 30), LONGEST_DELAY_MS);
  return retryAfterMs + Math.round(longest * random);
}
