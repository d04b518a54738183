import type { Clock } from "../../clock.ts";
import { fixOf } from "../../errors.ts";
import type { Reporter } from "../../ingest/answer-reporter.ts";
import type { RefusalCode, Refused } from "../../ingest/refusals.ts";
import type { DeliveryOutcomes } from "../../ingest/types.ts";
import type { Counters } from "../../observe/counters.ts";
import type { Id } from "../../protocol/event-types.ts";

/** Refusals of the last minutes: a repeated one is a problem, an old one is not. */
export interface RecentRefusals {
  record(refused: Refused): void;
  /** A delivery was stored in time. */
  stored(): void;
  /** Those with these codes within the last ten minutes. */
  of(codes: readonly RefusalCode[]): Recent | undefined;
  /** A delivery could not be stored in time, and none was since, however long ago. */
  readonly isStorageFailing: boolean;
  /**
   * A delivery could not be stored although the receiver seemed ready, and none was since, not even late. Ends after a while, because only
   * another delivery can show that storing works again.
   */
  readonly isStorageInDoubt: boolean;
}

/** Refusals that came no more than ten minutes after one another. */
interface Recent {
  readonly count: number;
  /** Those after the last delivery that was acknowledged. */
  readonly sinceAcknowledged: number;
  /** Time of the newest. */
  readonly at: number;
  /** The fix of the refusal's own error, if it has one. */
  readonly fix: string | undefined;
}

const WINDOW_MS = 10 * 60 * 1_000;
const DOUBT_MS = 30_000;

export interface RecentRefusalsDeps {
  /** Of the receiver: the number of acknowledged and stored deliveries. */
  readonly counters: Readonly<Counters>;
  readonly clock: Clock;
  /** Asked when a delivery could not be stored. */
  readonly isReady: () => boolean;
}

export function createRecentRefusals({ counters, clock, isReady }: RecentRefusalsDeps): RecentRefusals {
  const byCode = new Map<RefusalCode, Recent & { readonly acknowledged: number }>();
  let isStorageFailing = false;
  let unexpected: { readonly at: number; readonly stored: number } | undefined;

  // What a queue brings is stored without an answer.
  const acknowledged = (): number => (counters.answered[200] ?? 0) + (counters.answered[422] ?? 0) + counters.stored;

  function isWithin(ms: number, at: number): boolean {
    const age = clock.now() - at;
    return age >= 0 && age < ms; // A negative age means that the wall clock was set back: the true age is unknown.
  }

  return {
    record({ code, cause }) {
      const last = byCode.get(code);
      const before = last !== undefined && isWithin(WINDOW_MS, last.at) ? last : undefined;
      const now = acknowledged();
      byCode.set(code, {
        count: (before?.count ?? 0) + 1,
        sinceAcknowledged: (before?.acknowledged === now ? before.sinceAcknowledged : 0) + 1,
        at: clock.now(),
        fix: fixOf(cause),
        acknowledged: now,
      });
      if (code !== "storage-failed" && code !== "storage-late") return;
      isStorageFailing = true;
      if (isReady()) unexpected = { at: clock.now(), stored: counters.stored };
    },
    stored() {
      isStorageFailing = false;
    },
    of(codes) {
      const found = codes.flatMap((code) => byCode.get(code) ?? []).filter(({ at }) => isWithin(WINDOW_MS, at));
      if (found.length === 0) return undefined;
      const newest = found.reduce((last, one) => (one.at >= last.at ? one : last));
      const now = acknowledged();
      return {
        count: found.reduce((sum, { count }) => sum + count, 0),
        sinceAcknowledged: found.reduce((sum, one) => sum + (one.acknowledged === now ? one.sinceAcknowledged : 0), 0),
        at: newest.at,
        fix: newest.fix,
      };
    },
    get isStorageFailing() {
      return isStorageFailing;
    },
    get isStorageInDoubt() {
      return unexpected?.stored === counters.stored && isWithin(DOUBT_MS, unexpected.at);
    },
  };
}

/** Outcomes of deliveries, of which `health()` hears as well. */
export function recordingOutcomes(
  outcomes: DeliveryOutcomes,
  refusals: Pick<RecentRefusals, "stored">,
): DeliveryOutcomes {
  return {
    refused: outcomes.refused,
    stored(verified) {
      refusals.stored();
      outcomes.stored(verified);
    },
  };
}

/** A reporter that also records refusals and unsubscribes for `health()`. Successes are not recorded: they cost nothing. */
export function recordingReporter(
  reporter: Reporter,
  refusals: Pick<RecentRefusals, "record">,
  unwanted: (subscription: Id, source: string | undefined) => void,
): Reporter {
  return {
    ...reporter,
    refused(refused, status) {
      refusals.record(refused);
      reporter.refused(refused, status);
    },
    unwanted(verified, decision) {
      const subscription = verified.document().envelope?.subscription;
      if (subscription !== undefined) unwanted(subscription, verified.delivery.source);
      reporter.unwanted(verified, decision);
    },
  };
}
