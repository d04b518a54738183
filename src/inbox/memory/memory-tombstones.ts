import { ERASED_REASON } from "../port/jobs.ts";
import { TOMBSTONE_LIFE_MS, type Tombstone, type Tombstones } from "../port/tombstones.ts";

/** Tombstones in memory. @param forget the lifecycle notices of an unwanted subscription */
export function memoryTombstones(
  now: () => number,
  forget: (subscription: number, source: string | undefined) => void,
): Tombstones & {
  /** @returns how many reasons there were */ forgetReasons(subscriptions: ReadonlySet<number>): number;
} {
  const tombstones = new Map<string, Tombstone>();

  function alive(key: string): Tombstone | undefined {
    const tombstone = tombstones.get(key);
    if (tombstone !== undefined && now() - tombstone.lastHit >= TOMBSTONE_LIFE_MS) tombstones.delete(key);
    return tombstones.get(key);
  }

  return {
    get isEmpty() {
      return tombstones.size === 0;
    },
    find(subscription, source) {
      const key =
        source !== undefined && alive(keyOf(subscription, source)) !== undefined
          ? keyOf(subscription, source)
          : keyOf(subscription, undefined);
      const tombstone = alive(key);
      if (tombstone === undefined) return undefined;
      const hit = { ...tombstone, lastHit: now() };
      tombstones.set(key, hit);
      return hit;
    },
    put: async ({ subscription, source, reason }) => {
      const time = now();
      tombstones.set(keyOf(subscription, source), { subscription, source, reason, since: time, lastHit: time });
      forget(subscription, source);
    },
    lift: async (subscription, source) => {
      if (source !== undefined) tombstones.delete(keyOf(subscription, source));
      else
        for (const [key, tombstone] of tombstones) if (tombstone.subscription === subscription) tombstones.delete(key);
    },
    forgetReasons(subscriptions) {
      const theirs = [...tombstones].filter(([, { subscription }]) => subscriptions.has(subscription));
      for (const [key, tombstone] of theirs) tombstones.set(key, { ...tombstone, reason: ERASED_REASON });
      return theirs.length;
    },
    list: async () => [...tombstones.keys()].flatMap((key) => alive(key) ?? []),
  };
}

function keyOf(subscription: number, source: string | undefined): string {
  return source === undefined ? String(subscription) : `${subscription} ${source}`;
}
