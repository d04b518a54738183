import { TOMBSTONE_LIFE_MS, type InboxHost } from "../../../../src/adapter.ts";
import {
  createExpiredLog,
  createRetention,
  type Passes,
  type Retention,
} from "../../../../src/inbox/upkeep/retention.ts";
import { HIT_EVERY_MS } from "../../../../src/inbox/upkeep/tombstone-cache.ts";
import { impatientPool } from "../connection/impatient.ts";
import type { Pool } from "../connection/pool.ts";
import { isBroken } from "../connection/classify-error.ts";
import { createBodyRemoval } from "./body-removal.ts";
import { createDayPartitions, ensureDays, lastDayBefore } from "./day-partitions.ts";
import { DAY_MS, openRetentionTimes, type RetentionTimes } from "./retention-times.ts";
import { createRetentionSteps } from "./retention-steps.ts";

export interface UpkeepParts {
  readonly ident: () => string;
  readonly pool: Pool;
  readonly host: () => InboxHost;
  readonly options: KeepOptions;
  /** Two at once are slower, not wrong. */
  readonly isLeader: () => boolean;
  /** So many more dead letters were removed. */
  readonly expired: (count: number) => void;
}

export interface KeepOptions {
  /** Deliveries whose jobs are done or skipped, from the end of the day on which they were stored, milliseconds. */
  readonly keepDoneMs: number;
  /** From when they were marked unhandled, milliseconds. */
  readonly keepUnhandledMs: number;
  /** Dead jobs, from when they were settled, milliseconds. */
  readonly keepDeadMs: number;
  /** How long bodies of deliveries are stored: as long as the rest of them, or until all their jobs are done or skipped. */
  readonly keepBodies: "retention" | "until-done";
}

/** Between two passes. */
const EVERY_MS = 60_000;
/** Between two of those that remove bodies: they are promised to be gone a minute after their last job. */
const BODIES_EVERY_MS = 20_000;
/** Between two steps of one: what else waits for a connection is not held up. */
const PAUSE_MS = 10;
/** Of pages in which all stays: with many that stay, a look at each of them takes some passes. */
const KEPT_PAGES = 10;
/** Between two tries to drop a day that a reader uses: each may hold up stores for half a second. At first a minute, then twice as long each time. */
const LONGEST_WAIT_MS = 30 * 60_000;

/** Removes what is too old, as long as this process is the one that does so. */
export function createUpkeep({ ident, pool, host, options, isLeader, expired }: UpkeepParts): Retention {
  const everyMs = options.keepBodies === "until-done" ? BODIES_EVERY_MS : EVERY_MS;

  async function run({ wait, failed }: Passes): Promise<void> {
    const pause = async (): Promise<boolean> => (await wait(PAUSE_MS)) && isLeader();
    const hasty = impatientPool(pool);
    const steps = createRetentionSteps(hasty, ident);
    const days = createDayPartitions({ queries: pool, ident, pause });
    const bodies = createBodyRemoval(hasty, ident, pause);
    const letters = createExpiredLog(host());
    const blocked = createBlockedLog(host());
    const { clock } = host();
    let times: RetentionTimes | undefined;
    let after = 0;

    async function drop(now: number): Promise<void> {
      const last = lastDayBefore(now - options.keepDoneMs);
      if (!blocked.isDue()) return;
      let failure: unknown;
      for (const day of (await days.days()).filter((one) => one <= last)) {
        try {
          const outcome = await days.drop(day);
          if (outcome === "over") break;
          blocked.note(day, outcome === "busy");
          if (outcome === "busy") break;
        } catch (error) {
          // One that cannot be moved, such as a delivery that is broken on the disk, keeps no other day from being dropped.
          if (isBroken(error)) throw error;
          failure ??= error;
        }
      }
      if (failure !== undefined) throw failure;
    }

    async function expire(source: "unhandled" | "dead", until: number): Promise<void> {
      while (await pause()) {
        const { count, isMore } = await steps.expire(source, until);
        if (source === "dead") {
          letters.add(count);
          expired(count);
        }
        if (!isMore) return;
      }
    }

    async function removeKeys(until: number): Promise<void> {
      while ((await pause()) && (await steps.removeKeys(until)));
    }

    async function removeKept(): Promise<void> {
      for (let full = 0; full < KEPT_PAGES && (await pause());) {
        const page = await steps.removeKept(after);
        after = page.after ?? 0;
        if (page.after === null) return;
        if (page.removed === 0) full += 1;
      }
    }

    async function removeOld(): Promise<void> {
      const serverNow = await steps.serverNow();
      times ??= await openRetentionTimes(hasty, ident(), {
        newestDay: await days.newest(),
        stampNow: clock.now(),
        serverNow,
      });
      const [day, stamp] = [times.days(serverNow), times.stamps(clock.now())];
      await tried(() => drop(day));
      await tried(() => expire("unhandled", stamp - options.keepUnhandledMs));
      await tried(() => expire("dead", stamp - options.keepDeadMs));
      await tried(() => removeKeys(stamp - host().dedupeWindowMs));
      // The last hit may not have been written down.
      await tried(() => steps.removeTombstones(stamp - TOMBSTONE_LIFE_MS - HIT_EVERY_MS));
      times.pass(everyMs);
      if (isLeader()) await times.save();
    }

    /** What fails by itself holds up nothing that comes after it. */
    async function tried(step: () => Promise<void>): Promise<void> {
      if (!(await pause())) return;
      try {
        await step();
      } catch (error) {
        if (isBroken(error)) throw error;
        failed(error);
      }
    }

    do {
      if (!isLeader()) {
        bodies.forget();
        continue;
      }
      if (options.keepBodies === "until-done") await tried(bodies.pass);
      await tried(() => ensureDays(pool, ident()));
      await tried(removeOld);
      await tried(removeKept);
      await tried(steps.foldCounts);
      await tried(steps.removeSubscriptions);
      await tried(steps.removeRemovals);
      await tried(steps.removeWorkers);
      await tried(steps.removeUnusedWriters);
      await tried(steps.removeWriters);
      letters.tell();
    } while (await wait(everyMs));
  }

  return createRetention({ host, everyMs, run });
}

/** When days are tried again that could not be dropped. */
function createBlockedLog({ clock, log }: Pick<InboxHost, "clock" | "log">) {
  let waitMs = 0;
  let since = 0;
  return {
    isDue: (): boolean => Math.abs(clock.now() - since) >= waitMs,
    note(day: number, isBusy: boolean): void {
      const before = waitMs;
      waitMs = isBusy ? Math.min(Math.max(EVERY_MS, before * 2), LONGEST_WAIT_MS) : 0;
      since = clock.now();
      if (waitMs < LONGEST_WAIT_MS || before === LONGEST_WAIT_MS) return;
      const fix =
        "End transactions that use Hookline's tables for hours: `pg_stat_activity` shows them, see `xact_start`.";
      log.warn(
        { code: "retention-blocked", day: new Date(day * DAY_MS).toISOString().slice(0, 10), fix },
        "deliveries of a day that is over cannot be removed: a transaction uses their table",
      );
    },
  };
}
