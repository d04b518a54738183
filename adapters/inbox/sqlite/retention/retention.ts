import { TOMBSTONE_LIFE_MS, type Clock, type InboxHost, type Timer } from "../../../../src/adapter.ts";
import type { CommitQueue } from "../client/commit-queue.ts";
import { HIT_EVERY_MS } from "../client/tombstone-cache.ts";
import type { RetainLimits } from "./retention-steps.ts";

/** Takes away what has had its time, as long as this process works. */
export interface Retention {
  /** A pass at once, and again after each minute. */
  begin(): void;
  end(): void;
}

export interface RetentionParts {
  readonly commits: CommitQueue;
  readonly host: () => InboxHost;
  /** Whether the file is this process's to work on. */
  readonly works: () => boolean;
  /** Looks at what else may grow, once a pass. */
  readonly watch: () => void;
  /** Done and skipped jobs with their deliveries, milliseconds since they were received. */
  readonly keepDoneMs: number;
  /** Milliseconds since they were marked unhandled. */
  readonly keepUnhandledMs: number;
}

/** Between two passes. */
const EVERY_MS = 60_000;
/** Between two steps of one: what else waits for a commit is not held up. */
const PAUSE_MS = 10;

export function createRetention({ commits, host, works, watch, ...keep }: RetentionParts): Retention {
  let life: object | undefined;
  let timer: Timer | undefined;

  /** @returns whether this is still its life; at once where it is not */
  const wait = (ms: number, mine: object): Promise<boolean> =>
    new Promise((resolve) => {
      if (life !== mine) return resolve(false);
      timer = host().clock.setTimer(() => resolve(life === mine), ms);
      // What is to be removed keeps no process from ending.
      timer.unref?.();
    });

  async function repeat(step: () => Promise<boolean>, mine: object): Promise<void> {
    while ((await wait(PAUSE_MS, mine)) && works() && (await step()));
  }

  async function live(mine: object): Promise<void> {
    const time = createTrustedTime(host().clock, await commits.add("newestAt", undefined));
    do {
      // Anew for each step: the wall clock may have been set back since the last one.
      const limits = (): RetainLimits => toLimits(time.now(), { ...keep, keepKeysMs: host().dedupeWindowMs });
      await repeat(() => commits.add("retain", limits()), mine);
      await repeat(() => commits.add("vacuum", undefined), mine);
      watch();
      time.pass(EVERY_MS);
    } while (await wait(EVERY_MS, mine));
  }

  async function liveOn(mine: object): Promise<void> {
    do
      try {
        await live(mine);
      } catch (error) {
        if (life !== mine) return;
        const { log } = host();
        log.warn({ err: error, code: "retention-failed" }, "what has had its time could not be removed: tried again");
      }
    while (await wait(EVERY_MS, mine));
  }

  return {
    begin() {
      timer?.clear();
      const mine = {};
      life = mine;
      void liveOn(mine);
    },
    end() {
      timer?.clear();
      life = undefined;
    },
  };
}

function toLimits(
  now: number,
  keep: { readonly keepDoneMs: number; readonly keepUnhandledMs: number; readonly keepKeysMs: number },
): RetainLimits {
  return {
    received: now - keep.keepDoneMs,
    unhandled: now - keep.keepUnhandledMs,
    keys: now - keep.keepKeysMs,
    // The last hit may not have been written down.
    tombstones: now - TOMBSTONE_LIFE_MS - HIT_EVERY_MS,
  };
}

/** The time by which things are too old to be stored. */
export interface TrustedTime {
  now(): number;
  /** So much of it passes by the timers until it is asked again: no setting of the wall clock moves those. */
  pass(ms: number): void;
}

/** How much faster than time itself: a month that the machine was off is caught up with in twelve hours. */
const CATCH_UP = 60;

/**
 * Never ahead of the wall clock, and it does not jump with it: it begins at the newest stamp in the file and catches up. A wall clock that
 * is set a year ahead by mistake makes things too early old by one hour each minute, until it is set right.
 * @param newestAt undefined: nothing is there that could be removed by mistake
 */
export function createTrustedTime(clock: Clock, newestAt: number | undefined): TrustedTime {
  let at = newestAt ?? clock.now();
  return {
    now: () => (at = Math.min(at, clock.now())),
    pass(ms) {
      at += ms * CATCH_UP;
    },
  };
}
