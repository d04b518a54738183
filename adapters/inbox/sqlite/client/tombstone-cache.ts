import type { Tombstone, Tombstones } from "../../../../src/adapter.ts";
import type { CommitQueue } from "./commit-queue.ts";

/** A tombstone that nobody met for this long is lifted: the service has stopped. */
export const LIFE_MS = 30 * 24 * 60 * 60 * 1_000;
/** How exactly the last hit is written down. */
export const HIT_EVERY_MS = 60 * 60 * 1_000;

/** Tombstones of a file, with the copy in memory that requests ask. */
export interface FileTombstones extends Tombstones {
  /** Reads what other processes may have changed. */
  refresh(): Promise<void>;
}

export function createTombstones(commits: CommitQueue, now: () => number): FileTombstones {
  let stones = new Map<string, Tombstone>();

  async function refresh(): Promise<void> {
    const all = await commits.add("stones", undefined);
    stones = new Map(all.map((stone) => [keyOf(stone.subscription, stone.source), stone]));
  }

  function alive(key: string): Tombstone | undefined {
    const stone = stones.get(key);
    return stone !== undefined && now() - stone.lastHit < LIFE_MS ? stone : undefined;
  }

  return {
    refresh,
    get isEmpty() {
      return stones.size === 0;
    },
    find(subscription, source) {
      const own = source === undefined ? undefined : alive(keyOf(subscription, source));
      const stone = own ?? alive(keyOf(subscription, undefined));
      if (stone === undefined) return undefined;
      const hit = { ...stone, lastHit: now() };
      stones.set(keyOf(hit.subscription, hit.source), hit);
      // Best effort: one that is not written is written at the next hit.
      if (hit.lastHit - stone.lastHit >= HIT_EVERY_MS) commits.add("hit", hit).catch(() => {});
      return hit;
    },
    async put({ subscription, source, reason }) {
      const time = now();
      const stone = { subscription, source, reason, since: time, lastHit: time };
      await commits.add("bury", stone);
      stones.set(keyOf(subscription, source), stone);
    },
    async lift(subscription, source) {
      await commits.add("lift", { subscription, source });
      await refresh();
    },
    async list() {
      await refresh();
      return [...stones.keys()].flatMap((key) => alive(key) ?? []);
    },
  };
}

function keyOf(subscription: number, source: string | undefined): string {
  return source === undefined ? String(subscription) : `${subscription} ${source}`;
}
