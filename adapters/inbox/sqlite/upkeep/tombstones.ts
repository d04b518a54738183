import { TOMBSTONE_LIFE_MS, type Tombstone, type Tombstones } from "../../../../src/adapter.ts";
import type { CommitQueue } from "../store/commit-queue.ts";

/** How often at most the last hit is written. */
export const HIT_EVERY_MS = 60 * 60 * 1_000;

/** Tombstones of a file, cached in memory for requests. */
export interface FileTombstones extends Tombstones {
  /** Reads changes of other processes. */
  refresh(): Promise<void>;
  /** Of what was read last. */
  readonly version: number | undefined;
}

interface Cached {
  readonly tombstone: Tombstone;
  /** The last hit that was written, or is being written. Milliseconds since the epoch. */
  readonly writtenHit: number;
}

export function createTombstones(commits: CommitQueue, now: () => number): FileTombstones {
  let tombstones = new Map<string, Cached>();

  let version: number | undefined;

  async function refresh(): Promise<void> {
    const [read, all] = await commits.add("tombstones", undefined);
    version = read;
    tombstones = new Map(
      all.map((tombstone) => {
        const key = keyOf(tombstone.subscription, tombstone.source);
        // The last hits are here alone: most are never written, and one may be on its way.
        const lastHit = Math.max(tombstone.lastHit, tombstones.get(key)?.tombstone.lastHit ?? 0);
        return [key, { tombstone: { ...tombstone, lastHit }, writtenHit: tombstone.lastHit }];
      }),
    );
  }

  function alive(key: string): Cached | undefined {
    const cached = tombstones.get(key);
    return cached !== undefined && now() - cached.tombstone.lastHit < TOMBSTONE_LIFE_MS ? cached : undefined;
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
      const cached = own ?? alive(keyOf(subscription, undefined));
      if (cached === undefined) return undefined;
      const hit = { ...cached.tombstone, lastHit: now() };
      const isDue = hit.lastHit - cached.writtenHit >= HIT_EVERY_MS;
      const writtenHit = isDue ? hit.lastHit : cached.writtenHit;
      tombstones.set(keyOf(hit.subscription, hit.source), { tombstone: hit, writtenHit });
      // Best effort: where it fails, an hour's later hit is written.
      if (isDue) commits.add("hitTombstone", hit).catch(() => {});
      return hit;
    },
    async put({ subscription, source, reason }) {
      const time = now();
      const tombstone = { subscription, source, reason, since: time, lastHit: time };
      await commits.add("putTombstone", tombstone);
      tombstones.set(keyOf(subscription, source), { tombstone, writtenHit: time });
    },
    async lift(subscription, source) {
      await commits.add("liftTombstone", { subscription, source });
      await refresh();
    },
    async list() {
      await refresh();
      return [...tombstones.keys()].flatMap((key) => alive(key)?.tombstone ?? []);
    },
  };
}

function keyOf(subscription: number, source: string | undefined): string {
  return source === undefined ? String(subscription) : `${subscription} ${source}`;
}
