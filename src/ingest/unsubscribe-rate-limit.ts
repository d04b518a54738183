import { toMonotonic, type Clock } from "../clock.ts";
import type { WritingInbox } from "../inbox/port/inbox.ts";

/** Allows a number of different subscriptions within any hour, so that a bug in a gate cannot delete all of them, not even slowly. */
export interface UnsubscribeRateLimit {
  /**
   * Whether this subscription may be unsubscribed. Within the hour, the same subscription is allowed again and not counted.
   * @throws StorageError where the count is not known: that is no permission
   */
  allows(subscription: number, source: string | undefined): Promise<boolean>;
  /** It refused a subscription within the last hour. */
  readonly reachedLately: boolean;
}

/** Different subscriptions an hour. */
export const DEFAULT_UNSUBSCRIBES_PER_HOUR = 10;

const HOUR_MS = 60 * 60 * 1_000;

/** @param inbox counts for all processes that share it, if it can */
export function createUnsubscribeRateLimit(
  maxPerHour: number,
  clock: Clock,
  inbox: Pick<WritingInbox, "allowUnsubscribe">,
): UnsubscribeRateLimit {
  // A wall clock that flaps would make hours of minutes.
  const now = toMonotonic(clock);
  const ownCount = createOwnCount(maxPerHour);
  let refusedAt = -Infinity;
  let refusedByInboxAt = -Infinity;

  async function isAllowed(subscription: number, source: string | undefined): Promise<boolean> {
    if (inbox.allowUnsubscribe === undefined) return ownCount(`${subscription} ${source ?? ""}`, now());
    // A bug in a gate asks at every delivery.
    if (now() - refusedByInboxAt < REFUSED_FOR_MS) return false;
    // A user's inbox may give anything: only a true is one.
    const answer: unknown = await inbox.allowUnsubscribe({ subscription, source, maxPerHour });
    if (answer === true) return true;
    refusedByInboxAt = now();
    return false;
  }

  return {
    async allows(subscription, source) {
      const allowed = await isAllowed(subscription, source);
      if (!allowed) refusedAt = now();
      return allowed;
    },
    get reachedLately() {
      return now() - refusedAt < HOUR_MS;
    },
  };
}

/** Refused once, this process does not ask the inbox again for so long. */
const REFUSED_FOR_MS = 1_000;

/** For one process: whether the key is allowed at this time, which never goes back. */
function createOwnCount(maxPerHour: number): (key: string, now: number) => boolean {
  /** When each one of the last hour was allowed, the oldest first. */
  const allowed = new Map<string, number>();

  return (key, now) => {
    for (const [old, at] of allowed) {
      if (now - at < HOUR_MS) break;
      allowed.delete(old);
    }
    if (allowed.has(key)) return true;
    if (allowed.size + 1 > maxPerHour) return false;
    allowed.set(key, now);
    return true;
  };
}
