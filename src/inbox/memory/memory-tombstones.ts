import { ERASED_REASON } from "../port/jobs.ts";
import type { Tombstones } from "../port/tombstones.ts";
import { createTombstoneCache } from "../upkeep/tombstone-cache.ts";

/** Tombstones in memory. @param forget the lifecycle notices of an unwanted subscription */
export function memoryTombstones(
  now: () => number,
  forget: (subscription: number, source: string | undefined) => void,
): Tombstones & {
  /** @returns how many reasons there were */ forgetReasons(subscriptions: ReadonlySet<number>): number;
} {
  const tombstones = createTombstoneCache({ now });

  return {
    get isEmpty() {
      return tombstones.isEmpty;
    },
    find: tombstones.find,
    put: async ({ subscription, source, reason }) => {
      const time = now();
      // Expired ones go.
      tombstones.load(tombstones.all());
      tombstones.set({ subscription, source, reason, since: time, lastHit: time });
      forget(subscription, source);
    },
    lift: async (subscription, source) =>
      tombstones.load(
        tombstones
          .all()
          .filter((one) => one.subscription !== subscription || (source !== undefined && one.source !== source)),
      ),
    forgetReasons(subscriptions) {
      const theirs = tombstones.all().filter(({ subscription }) => subscriptions.has(subscription));
      for (const one of theirs) tombstones.set({ ...one, reason: ERASED_REASON });
      return theirs.length;
    },
    list: async () => tombstones.all(),
  };
}
