import type { Tombstone, Tombstones } from "../port/subscriptions.ts";

/** A tombstone that nobody met for this long is lifted: the service has stopped. */
const TOMBSTONE_LIFE_MS = 30 * 24 * 60 * 60 * 1_000;

/** Tombstones in memory. @param forget what a lifecycle notice said of one that is unwanted now */
export function memoryTombstones(
  now: () => number,
  forget: (subscription: number, source: string | undefined) => void,
): Tombstones {
  const stones = new Map<string, Tombstone>();

  function alive(key: string): Tombstone | undefined {
    const stone = stones.get(key);
    if (stone !== undefined && now() - stone.lastHit >= TOMBSTONE_LIFE_MS) stones.delete(key);
    return stones.get(key);
  }

  return {
    get isEmpty() {
      return stones.size === 0;
    },
    find(subscription, source) {
      const key =
        source !== undefined && alive(keyOf(subscription, source)) !== undefined
          ? keyOf(subscription, source)
          : keyOf(subscription, undefined);
      const stone = alive(key);
      if (stone === undefined) return undefined;
      const hit = { ...stone, lastHit: now() };
      stones.set(key, hit);
      return hit;
    },
    put: async ({ subscription, source, reason }) => {
      const time = now();
      stones.set(keyOf(subscription, source), { subscription, source, reason, since: time, lastHit: time });
      forget(subscription, source);
    },
    lift: async (subscription, source) => {
      if (source !== undefined) stones.delete(keyOf(subscription, source));
      else for (const [key, stone] of stones) if (stone.subscription === subscription) stones.delete(key);
    },
    list: async () => [...stones.keys()].flatMap((key) => alive(key) ?? []),
  };
}

function keyOf(subscription: number, source: string | undefined): string {
  return source === undefined ? String(subscription) : `${subscription} ${source}`;
}
