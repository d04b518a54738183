import type { Clock, Logger, Timer } from "../../../../src/adapter.ts";
import type { Pool } from "../connection/pool.ts";
import { assertWritable } from "../connection/server-checks.ts";
import { isLockTimeout, isOfTable, isPermission } from "../connection/to-storage-error.ts";

/** Between two looks at what other processes changed, milliseconds: tombstones are to be no older. */
const WATCH_MS = 1_000;
/** So many looks that end at a lock, one after the other, are a failure: others hold one for a moment now and then. */
const LOCKED_LOOKS = 5;

export interface WatchDeps {
  readonly pool: Pool;
  readonly host: () => { readonly clock: Clock; readonly log: Pick<Logger, "error"> };
  /** What this process knows of the tables: tombstones, subscriptions, pauses, counts. */
  readonly refreshes: readonly (() => Promise<void>)[];
  /** How the last look ended. */
  readonly answered: (error?: unknown) => void;
}

export interface Watch {
  /** Resolves after the first look. @throws StorageError where it is not a table that fails */
  begin(): Promise<void>;
  /** Looks now. @throws the same */
  look(): Promise<void>;
  /** Why something could not be read when it was last looked at. */
  failure(): unknown;
  end(): void;
}

/**
 * Looks again and again at what other processes changed, and whether the server takes writes. A table that cannot be read keeps no delivery
 * from being stored: what was known of it holds on, and where nothing was, that is as if it were empty.
 */
export function watchOthers({ pool, host, refreshes, answered }: WatchDeps): Watch {
  const failures = new Map<unknown, unknown>();
  const locked = new Map<unknown, number>();
  let timer: Timer | undefined;

  /** @returns why it could not be read */
  async function tried(refresh: () => Promise<void>, isFirst: boolean): Promise<unknown> {
    try {
      await refresh();
      failures.delete(refresh);
      locked.delete(refresh);
      return undefined;
    } catch (err) {
      if (!isOfTable(err) || (isFirst && isPermission(err))) throw err;
      const looks = isLockTimeout(err) ? (locked.get(refresh) ?? 0) + 1 : LOCKED_LOOKS;
      locked.set(refresh, looks);
      if (looks < LOCKED_LOOKS && !isFirst) return err;
      if (!failures.has(refresh)) host().log.error({ err, code: "inbox-stats-failed" }, UNREAD);
      failures.set(refresh, err);
      return err;
    }
  }

  async function look(isFirst = false): Promise<void> {
    const errors = await Promise.all(refreshes.map((refresh) => tried(refresh, isFirst)));
    // A role that may read nothing may store nothing.
    if (errors.every((err) => err !== undefined && isPermission(err))) throw errors[0];
  }

  function later(): void {
    const mine = host().clock.setTimer(() => {
      assertWritable(pool)
        .then(() => look())
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
    async begin() {
      failures.clear();
      locked.clear();
      await look(true);
      later();
    },
    look: () => look(),
    failure: () => failures.values().next().value,
    end() {
      timer?.clear();
      timer = undefined;
    },
  };
}

const UNREAD =
  "a table of tombstones, subscriptions, pauses or jobs cannot be read: deliveries are stored, and what was known of it holds on";
