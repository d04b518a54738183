import type { Clock } from "../clock.ts";
import type { WritingInbox } from "../inbox/port/inbox.ts";

/** Allows a number of different subscriptions an hour, so that a bug in a gate cannot delete all of them, not even slowly. */
export interface UnsubscribeRateLimit {
  /**
   * Whether this subscription may be unsubscribed. Within the hour, the same subscription is allowed again and not counted.
   * @throws StorageError where the count is not known: that is no permission
   */
  allows(subscription: number, source: string | undefined): Promise<boolean>;
  /** It refused a subscription within the last hour. */
  readonly reachedLately: boolean;
}

const HOUR_MS = 60 * 60 * 1_000;

/** @param inbox counts for all processes that share it, if it can */
export function createUnsubscribeRateLimit(
  maxPerHour: number,
  clock: Clock,
  inbox: Pick<WritingInbox, "allowUnsubscribe">,
): UnsubscribeRateLimit {
  const ownCount = createOwnCount(maxPerHour);
  let refusedAt: number | undefined;
  let refusedByInboxAt = -Infinity;

  async function isAllowed(subscription: number, source: string | undefined): Promise<boolean> {
    if (inbox.allowUnsubscribe === undefined) return ownCount(`${subscription} ${source ?? ""}`, clock.now());
    // A bug in a gate asks at every delivery.
    const age = clock.now() - refusedByInboxAt;
    if (age >= 0 && age < REFUSED_FOR_MS) return false;
    // A user's inbox may give anything: only a true is one.
    const answer: unknown = await inbox.allowUnsubscribe({ subscription, source, maxPerHour });
    if (answer === true) return true;
    refusedByInboxAt = clock.now();
    return false;
  }

  return {
    async allows(subscription, source) {
      const allowed = await isAllowed(subscription, source);
      if (!allowed) refusedAt = clock.now();
      return allowed;
    },
    get reachedLately() {
      const age = refusedAt === undefined ? HOUR_MS : clock.now() - refusedAt;
      return age >= 0 && age < HOUR_MS; // below 0 the wall clock went back, and the age is unknown
    },
  };
}

/** Refused once, this process does not ask the inbox again for so long. */
const REFUSED_FOR_MS = 1_000;

/** For one process: whether the key is allowed at this time. */
function createOwnCount(maxPerHour: number): (key: string, now: number) => boolean {
  const allowed = new Map<string, number>();
  let tokens = maxPerHour;
  let filledAt: number | undefined;

  function refill(now: number): void {
    // A wall clock that went back gives nothing, one that went ahead an hour's worth at most.
    const passed = Math.max(now - (filledAt ?? now), 0);
    tokens = Math.min(maxPerHour, tokens + (passed / HOUR_MS) * maxPerHour);
    filledAt = now;
    for (const [key, at] of allowed) if (Math.abs(now - at) >= HOUR_MS) allowed.delete(key);
  }

  return (key, now) => {
    refill(now);
    if (allowed.has(key)) return true;
    if (tokens < 1) return false;
    tokens -= 1;
    allowed.set(key, now);
    return true;
  };
}
