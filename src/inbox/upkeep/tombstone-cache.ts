import { TOMBSTONE_LIFE_MS, type Tombstone, type Tombstones } from "../port/tombstones.ts";

/** How often at most the last hit of a tombstone is written. */
export const HIT_EVERY_MS: number = 60 * 60 * 1_000;

/** Tombstones in memory, where requests look for them. What stands in a storage is read into it. */
export interface TombstoneCache extends Pick<Tombstones, "isEmpty" | "find"> {
  /** All that there are, instead of those in memory. */
  load(all: readonly Tombstone[]): void;
  set(tombstone: Tombstone): void;
  /** Those that have not expired. */
  all(): Tombstone[];
  clear(): void;
}

export interface TombstoneCacheParts {
  readonly now: () => number;
  /** Whether it is as the storage has it. Else none is found: a 422 by one that another process has lifted would delete its subscription. @default always */
  readonly isCurrent?: () => boolean;
  /** Writes the last hit, which keeps a tombstone from expiring: once an hour at most. A rejection has no effect: an hour's later hit is written. */
  readonly writeHit?: (hit: Tombstone) => Promise<unknown>;
  /** How a source stands in the storage, where that is not the text itself. */
  readonly toKey?: (source: string) => string;
}

interface Cached {
  readonly tombstone: Tombstone;
  /** The last hit that was written, or is being written. Milliseconds since the epoch. */
  readonly writtenHit: number;
}

export function createTombstoneCache({
  now,
  isCurrent = () => true,
  writeHit,
  toKey = (source) => source,
}: TombstoneCacheParts): TombstoneCache {
  let tombstones = new Map<string, Cached>();

  const keyOf = (subscription: number, source: string | undefined): string =>
    source === undefined ? String(subscription) : `${subscription} ${toKey(source)}`;

  function alive(key: string): Cached | undefined {
    const cached = tombstones.get(key);
    return cached !== undefined && now() - cached.tombstone.lastHit < TOMBSTONE_LIFE_MS ? cached : undefined;
  }

  return {
    get isEmpty() {
      return tombstones.size === 0;
    },
    find(subscription, source) {
      const own = source === undefined ? undefined : alive(keyOf(subscription, source));
      const cached = own ?? alive(keyOf(subscription, undefined));
      if (cached === undefined || !isCurrent()) return undefined;
      const hit = { ...cached.tombstone, source: own && source, lastHit: now() };
      const isDue = hit.lastHit - cached.writtenHit >= HIT_EVERY_MS;
      const writtenHit = isDue ? hit.lastHit : cached.writtenHit;
      tombstones.set(keyOf(hit.subscription, hit.source), { tombstone: hit, writtenHit });
      if (isDue) writeHit?.(hit).catch(() => {});
      return hit;
    },
    load(all) {
      tombstones = new Map(
        all.map((tombstone) => {
          const key = keyOf(tombstone.subscription, tombstone.source);
          // The last hits are here alone: most are never written, and one may be on its way.
          const lastHit = Math.max(tombstone.lastHit, tombstones.get(key)?.tombstone.lastHit ?? 0);
          return [key, { tombstone: { ...tombstone, lastHit }, writtenHit: tombstone.lastHit }];
        }),
      );
    },
    set(tombstone) {
      const key = keyOf(tombstone.subscription, tombstone.source);
      tombstones.set(key, { tombstone, writtenHit: tombstone.lastHit });
    },
    all: () => [...tombstones.keys()].flatMap((key) => alive(key)?.tombstone ?? []),
    clear: () => tombstones.clear(),
  };
}
