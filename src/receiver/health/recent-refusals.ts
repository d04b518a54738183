import type { Clock } from "../../clock.ts";
import type { Counters } from "../../stats.ts";
import { fixOf } from "../../errors.ts";
import type { RefusalCode } from "../../ingest/responses.ts";
import type { Refused } from "../../ingest/steps.ts";

/** What was refused lately: what repeats is a problem, what ended is none. */
export interface RecentRefusals {
  saw(refused: Refused): void;
  /** Those with these codes within the last ten minutes. */
  of(codes: readonly RefusalCode[]): Recent | undefined;
  /** One with these codes was refused after the last delivery that was stored, however long ago. */
  sinceStored(codes: readonly RefusalCode[]): boolean;
}

/** Refusals that came no more than ten minutes after one another. */
interface Recent {
  readonly count: number;
  /** Those after the last request that was acknowledged. */
  readonly alone: number;
  /** Of the newest: milliseconds since the epoch. */
  readonly at: number;
  /** The exact fix, where the refusal brought one. */
  readonly fix: string | undefined;
}

const WINDOW_MS = 10 * 60 * 1_000;

/** @param counters of the receiver: what was acknowledged and stored is not counted twice */
export function createRecentRefusals(counters: Readonly<Counters>, clock: Clock): RecentRefusals {
  const seen = new Map<RefusalCode, Recent & { readonly acknowledged: number; readonly stored: number }>();

  const acknowledged = (): number => (counters.answered[200] ?? 0) + (counters.answered[422] ?? 0);

  function isRecent(at: number): boolean {
    const age = clock.now() - at;
    return age >= 0 && age < WINDOW_MS; // below 0 the wall clock was set back: nobody knows how long ago it was
  }

  return {
    saw({ code, cause }) {
      const last = seen.get(code);
      const before = last !== undefined && isRecent(last.at) ? last : undefined;
      const now = acknowledged();
      seen.set(code, {
        count: (before?.count ?? 0) + 1,
        alone: (before?.acknowledged === now ? before.alone : 0) + 1,
        at: clock.now(),
        fix: fixOf(cause),
        acknowledged: now,
        stored: counters.stored,
      });
    },
    of(codes) {
      const found = codes.flatMap((code) => seen.get(code) ?? []).filter(({ at }) => isRecent(at));
      if (found.length === 0) return undefined;
      const newest = found.reduce((last, one) => (one.at >= last.at ? one : last));
      const now = acknowledged();
      return {
        count: found.reduce((sum, { count }) => sum + count, 0),
        alone: found.reduce((sum, one) => sum + (one.acknowledged === now ? one.alone : 0), 0),
        at: newest.at,
        fix: newest.fix,
      };
    },
    sinceStored: (codes) => codes.some((code) => seen.get(code)?.stored === counters.stored),
  };
}
