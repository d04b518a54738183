import type { Clock } from "../clock.ts";

/** A bucket of different subscriptions an hour: a bug in a gate must not delete all of them, not even slowly. */
export interface UnsubscribeRateLimit {
  /** Whether this subscription may be unsubscribed. One that may stays so for an hour, at no cost. */
  allows(subscription: number, source: string | undefined): boolean;
  /** It said no within the last hour. */
  readonly held: boolean;
}

const HOUR_MS = 60 * 60 * 1_000;

export function createUnsubscribeRateLimit(maxPerHour: number, clock: Clock): UnsubscribeRateLimit {
  const allowed = new Map<string, number>();
  let tokens = maxPerHour;
  let filledAt = clock.now();
  let heldAt: number | undefined;

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
        heldAt = now;
        return false;
      }
      tokens -= 1;
      allowed.set(key, now);
      return true;
    },
    get held() {
      const age = heldAt === undefined ? HOUR_MS : clock.now() - heldAt;
      return age >= 0 && age < HOUR_MS; // below 0 the wall clock went back: when it was is unknown
    },
  };
}
