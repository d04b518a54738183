import type { Context } from "hono";
import type { Clock } from "../../clock.ts";
import { ApiError } from "../http/routes.ts";

/** Calls of one account. */
export interface RateLimit {
  /** Counts a call. Gives 0, or how many milliseconds are left until one is allowed again: such a call is not counted. */
  take(): number;
}

const WINDOW_MS = 1_000;

/** Allows so many calls in each second of the clock. @see protocol 8: the service's own limits are "not shown" */
export function createRateLimit(clock: Clock, perSecond: number = Infinity): RateLimit {
  let windowEndsAt = -Infinity;
  let left = 0;
  return {
    take() {
      const now = clock.now();
      if (now >= windowEndsAt || now < windowEndsAt - WINDOW_MS) {
        windowEndsAt = now + WINDOW_MS;
        left = perSecond;
      }
      if (left === 0) return windowEndsAt - now;
      left -= 1;
      return 0;
    },
  };
}

/** Counts a call. @throws ApiError 429 with `Retry-After` beyond the limit */
export function assertWithinRate(calls: RateLimit, context: Context): void {
  const waitMs = calls.take();
  if (waitMs === 0) return;
  context.header("Retry-After", String(Math.ceil(waitMs / 1_000)));
  throw new ApiError(429, "tooManyRequests", "The account has made all calls of this second. Retry later.");
}
