import { TOMBSTONE_LIFE_MS, type Tombstone, type Tombstones } from "../../../../src/adapter.ts";
import type { CommitQueue } from "./commit-queue.ts";

/** How often at most the last hit is written. */
export const HIT_EVERY_MS = 60 * 60 * 1_000;

/** Tombstones of a file, cached in memory for requests. */
export interface FileTombstones extends Tombstones {
  /** Reads changes of other processes. */
  refresh(): Promise<void>;
  /** Of what was read last. */
  readonly version: number | undefined;
}

export function createTombstones(commits: CommitQueue, now: () => number): FileTombstones {
  let tombstones = new Map<string, Tombstone>();

  let version: number | undefined;

  async function refresh(): Promise<void> {
    const [read, all] = await commits.add("tombstones", undefined);
    version = read;
    tombstones = new Map(all.map((tombstone) => [keyOf(tombstone.subscription, tombstone.source), tombstone]));
  }

  function alive(key: string): Tombstone | undefined {
    const tombstone = tombstones.get(key);
    return tombstone !== undefined && now() - tombstone.lastHit < TOMBSTONE_LIFE_MS ? tombstone : undefined;
  }

  return {
    refresh,
    get version() {
      return version;
    },
    get isEmpty() {
      return tombstones.size === 0;
    },
    find(subscription, source) {
      const own = source === undefined ? undefined : alive(keyOf(subscription, source));
      const tombstone = own ?? alive(keyOf(subscription, undefined));
      if (tombstone === undefined) return undefined;
      const hit = { ...tombstone, lastHit: now() };
      tombstones.set(keyOf(hit.subscription, hit.source), hit);
      // Best effort: one that is not written is written at the next hit.
      if (hit.lastHit - tombstone.lastHit >= HIT_EVERY_MS) commits.add("hitTombstone", hit).catch(() => {});
      return hit;
    },
    async put({ subscription, source, reason }) {
      const time = now();
      const tombstone = { subscription, source, reason, since: time, lastHit: time };
      await commits.add("putTombstone", tombstone);
      tombstones.set(keyOf(subscription, source), tombstone);
    },
    async lift(subscription, source) {
      await commits.add("liftTombstone", { subscription, source });
      await refresh();
    },
    async list() {
      await refresh();
      return [...tombstones.keys()].flatMap((key) => alive(key) ?? []);
    },
  };
}

function keyOf(subscription: number, source: string | undefined): string {
  return source === undefined ? String(subscription) : `${subscription} ${source}`;
}
