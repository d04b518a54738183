import type { Clock } from "../clock.ts";

/** Allows a number of different subscriptions an hour, so that a bug in a gate cannot delete all of them, not even slowly. */
export interface UnsubscribeRateLimit {
  /** Whether this subscription may be unsubscribed. Within the hour, the same subscription is allowed again and not counted. */
  allows(subscription: number, source: string | undefined): boolean;
  /** It refused a subscription within the last hour. */
  readonly reachedLately: boolean;
}

const HOUR_MS = 60 * 60 * 1_000;

export function createUnsubscribeRateLimit(maxPerHour: number, clock: Clock): UnsubscribeRateLimit {
  const allowed = new Map<string, number>();
  let tokens = maxPerHour;
  let filledAt = clock.now();
  let refusedAt: number | undefined;

  function refill(now: number): void {
    // A wall clock that went back gives nothing, one that went ahead an hour's worth at most.
    const passed = Math.max(now - filledAt, 0);
    tokens = Math.min(maxPerHour, tokens + (passed / HOUR_MS) * maxPerHour);
    filledAt = now;
    for (const [key, at] of allowed) if (Math.abs(now - at) >= HOUR_MS) allowed.delete(key);
  }

  return {
    allows(subscription, source) {
      const now = clock.now();
      refill(now);
      const key = `${subscription} ${source ?? ""}`;
      if (allowed.has(key)) return true;
      if (tokens < 1) {
        refusedAt = now;
        return false;
      }
      tokens -= 1;
      allowed.set(key, now);
      return true;
    },
    get reachedLately() {
      const age = refusedAt === undefined ? HOUR_MS : clock.now() - refusedAt;
      return age >= 0 && age < HOUR_MS; // below 0 the wall clock went back, and the age is unknown
    },
  };
}
