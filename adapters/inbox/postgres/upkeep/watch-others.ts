import type { Clock, Timer } from "../../../../src/adapter.ts";
import type { Pool } from "../connection/pool.ts";
import { assertWritable } from "../connection/server-checks.ts";
import { isLockTimeout } from "../connection/to-storage-error.ts";

/** Between two looks at what other processes changed, milliseconds: tombstones are to be no older. */
const WATCH_MS = 1_000;

export interface WatchDeps {
  readonly pool: Pool;
  readonly clock: () => Clock;
  /** What this process knows of the tables: tombstones, counts, pauses. */
  readonly refreshes: readonly (() => Promise<void>)[];
  /** How the last look ended. */
  readonly answered: (error?: unknown) => void;
}

/** Looks again and again at what other processes changed, and whether the server takes writes. */
export function watchOthers({ pool, clock, refreshes, answered }: WatchDeps): { begin(): void; end(): void } {
  let timer: Timer | undefined;

  function later(): void {
    const mine = clock().setTimer(() => {
      assertWritable(pool)
        .then(() => Promise.all(refreshes.map((refresh) => unlessLocked(refresh()))))
        .then(
          () => answered(),
          (error: unknown) => answered(error),
        )
        .finally(() => void (timer === mine && later()));
    }, WATCH_MS);
    mine.unref?.();
    timer = mine;
  }

  return {
    begin: later,
    end() {
      timer?.clear();
      timer = undefined;
    },
  };
}

/** What is known holds on while somebody locks a table. */
export async function unlessLocked(read: Promise<void>): Promise<void> {
  await read.catch((error: unknown) => {
    if (!isLockTimeout(error)) throw error;
  });
}
