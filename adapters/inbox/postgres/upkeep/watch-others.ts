import type { Clock, Logger, Timer } from "../../../../src/adapter.ts";
import type { Pool } from "../connection/pool.ts";
import { assertWritable } from "../connection/server-checks.ts";
import { isLockTimeout, isOfTable, isPermission } from "../connection/classify-error.ts";

/** So many looks that end at a lock, one after the other, are a failure: others hold one for a moment now and then. */
const LOCKED_LOOKS = 5;

/** What is looked at together, again and again. No other look holds it up. */
interface Looks {
  /** Between two looks. */
  readonly everyMs: number;
  /** What this process knows of the tables. */
  readonly refreshes: readonly (() => Promise<void>)[];
  /** How the last look ended. */
  readonly answered?: (error?: unknown) => void;
}

export interface WatchDeps {
  readonly pool: Pool;
  readonly host: () => { readonly clock: Clock; readonly log: Pick<Logger, "error"> };
  readonly looks: readonly Looks[];
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
export function watchOthers({ pool, host, looks }: WatchDeps): Watch {
  const all = looks.flatMap(({ refreshes }) => refreshes);
  const failures = new Map<unknown, unknown>();
  const locked = new Map<unknown, number>();
  const timers = new Map<Looks, Timer>();

  async function tried(refresh: () => Promise<void>, isFirst: boolean): Promise<void> {
    try {
      await refresh();
      failures.delete(refresh);
      locked.delete(refresh);
    } catch (err) {
      if (!isOfTable(err) || (isFirst && isPermission(err))) throw err;
      const times = isLockTimeout(err) ? (locked.get(refresh) ?? 0) + 1 : LOCKED_LOOKS;
      locked.set(refresh, times);
      if (times < LOCKED_LOOKS && !isFirst) return;
      if (!failures.has(refresh)) host().log.error({ err, code: "inbox-stats-failed" }, UNREAD);
      failures.set(refresh, err);
    }
  }

  async function look(refreshes: Looks["refreshes"] = all, isFirst = false): Promise<void> {
    await Promise.all(refreshes.map((refresh) => tried(refresh, isFirst)));
    // A role that may read nothing may store nothing.
    const errors = all.map((refresh) => failures.get(refresh));
    if (errors.every((err) => err !== undefined && isPermission(err))) throw errors[0];
  }

  function later(group: Looks): void {
    const { everyMs, refreshes, answered } = group;
    const mine = host().clock.setTimer(() => {
      assertWritable(pool)
        .then(() => look(refreshes))
        .then(
          () => answered?.(),
          (error: unknown) => answered?.(error),
        )
        .finally(() => void (timers.get(group) === mine && later(group)));
    }, everyMs);
    mine.unref?.();
    timers.set(group, mine);
  }

  return {
    async begin() {
      failures.clear();
      locked.clear();
      await look(all, true);
      for (const group of looks) later(group);
    },
    look: () => look(),
    failure: () => failures.values().next().value,
    end() {
      for (const timer of timers.values()) timer.clear();
      timers.clear();
    },
  };
}

const UNREAD =
  "a table of tombstones, subscriptions, pauses or jobs cannot be read: deliveries are stored, and what was known of it holds on";
