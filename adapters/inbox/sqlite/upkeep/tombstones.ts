import type { Tombstone, Tombstones } from "../../../../src/adapter.ts";
import { createTombstoneCache } from "../../../../src/inbox/upkeep/tombstone-cache.ts";
import type { CommitQueue } from "../store/commit-queue.ts";

/** Tombstones of a file, cached in memory for requests. */
export interface FileTombstones extends Tombstones {
  /** Reads changes of other processes. */
  refresh(): Promise<void>;
  /** Of what was read last; undefined: it is to be read. */
  readonly version: number | undefined;
  /** Another file is at the place. */
  replaced(): void;
}

/** @param isReadable whether the file can be asked: what other processes have lifted is seen */
export function createTombstones(commits: CommitQueue, now: () => number, isReadable: () => boolean): FileTombstones {
  const writeHit = (hit: Tombstone): Promise<unknown> => commits.add("hitTombstone", hit);
  const cache = createTombstoneCache({ now, isCurrent: isReadable, writeHit });
  let version: number | undefined;

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
      const tombstone = { subscription, source, reason, since: time, lastHit: time };
      await commits.add("putTombstone", tombstone);
      cache.set(tombstone);
    },
    async lift(subscription, source) {
      await commits.add("liftTombstone", { subscription, source });
      await refresh();
    },
    async list() {
      await refresh();
      return cache.all();
    },
  };
}
