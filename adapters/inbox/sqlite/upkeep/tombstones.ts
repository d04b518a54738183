import { setTimeout } from "node:timers/promises";
import type { Tombstones } from "../../../../src/adapter.ts";
import { createTombstoneCache } from "../../../../src/inbox/upkeep/tombstone-cache.ts";
import type { CommitQueue } from "../store/commit-queue.ts";
import type { LastLook } from "../thread/last-look.ts";

/** Tombstones of a file, cached in memory for requests. */
export interface FileTombstones extends Tombstones {
  /** Reads changes of other processes. */
  refresh(): Promise<void>;
  /** Of what was read last; undefined: it is to be read. */
  readonly version: number | undefined;
  /** Another file is at the place. */
  replaced(): void;
}

export interface TombstoneDeps {
  readonly now: () => number;
  /** What the commit thread last saw of the file; undefined while it cannot be asked. */
  readonly lastLook: () => ReturnType<LastLook["read"]> | undefined;
}

/**
 * A process answers 422 by no tombstone unless its thread has seen within this time that the file still has the tombstones of its memory.
 * So once it is over, none answers by a tombstone that was lifted before.
 */
const UNSEEN_MS = 250;

export function createTombstones(commits: CommitQueue, { now, lastLook }: TombstoneDeps): FileTombstones {
  let version: number | undefined;
  let reading: Promise<void> | undefined;

  function isCurrent(): boolean {
    const look = lastLook();
    if (look === undefined || look.agoMs >= UNSEEN_MS) return false;
    if (look.tombstones === version) return true;
    reading ??= refresh()
      .catch(() => {})
      .finally(() => (reading = undefined));
    return false;
  }

  const cache = createTombstoneCache({ now, isCurrent, writeHit: (hit) => commits.add("hitTombstone", hit) });

  async function refresh(): Promise<void> {
    const [read, all] = await commits.add("tombstones", undefined);
    version = read;
    cache.load(all);
  }

  return {
    refresh,
    replaced: () => void (version = undefined),
    get version() {
      return version;
    },
    get isEmpty() {
      return cache.isEmpty;
    },
    find: cache.find,
    async put({ subscription, source, reason }) {
      const time = now();
      await commits.add("putTombstone", { subscription, source, reason, since: time, lastHit: time });
      // It stands, whatever becomes of this: the next look-up reads it.
      await refresh().catch(() => {});
    },
    async lift(subscription, source) {
      await commits.add("liftTombstone", { subscription, source });
      await Promise.all([refresh(), setTimeout(UNSEEN_MS)]);
    },
    async list() {
      await refresh();
      return cache.all();
    },
  };
}
