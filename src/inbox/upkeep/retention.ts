import type { Timer } from "../../clock.ts";
import type { InboxHost } from "../port/inbox.ts";

/** Done, skipped and unhandled jobs of a durable inbox, days. */
export const DEFAULT_KEEP_DAYS = 7;

/** Removes what has had its time, pass after pass, as long as a process works. */
export interface Retention {
  /** A pass at once, and again after each interval. */
  begin(): void;
  end(): void;
}

/** What the passes of one `begin` have. */
export interface Passes {
  /** @returns whether the passes go on; at once where they do not */
  wait(ms: number): Promise<boolean>;
  failed(error: unknown): void;
}

export interface RetentionParts {
  readonly host: () => InboxHost;
  /** Between two passes, and after one that failed. */
  readonly everyMs: number;
  /** Resolves when its `wait` says so. Where it rejects, it is called again. */
  readonly run: (passes: Passes) => Promise<void>;
}

const DAY_MS = 24 * 60 * 60 * 1_000;

export function createRetention({ host, everyMs, run }: RetentionParts): Retention {
  let life: object | undefined;
  let timer: Timer | undefined;

  function begin(mine: object): Passes {
    return {
      wait: (ms) =>
        new Promise((resolve) => {
          if (life !== mine) return resolve(false);
          timer = host().clock.setTimer(() => resolve(life === mine), ms);
          // What is to be removed keeps no process from ending.
          timer.unref?.();
        }),
      failed(error) {
        if (life !== mine) return;
        const { log } = host();
        log.warn({ err: error, code: "retention-failed" }, "what has had its time could not be removed: tried again");
      },
    };
  }

  async function runOn(passes: Passes): Promise<void> {
    do await run(passes).catch(passes.failed);
    while (await passes.wait(everyMs));
  }

  return {
    begin() {
      timer?.clear();
      life = {};
      void runOn(begin(life));
    },
    end() {
      timer?.clear();
      life = undefined;
    },
  };
}

/** Tells how many dead letters expired, once a day. */
export function createExpiredLog({ clock, log }: Pick<InboxHost, "clock" | "log">) {
  let count = 0;
  let toldAt: number | undefined;
  return {
    add(expired: number): void {
      count += expired;
    },
    tell(): void {
      const now = clock.now();
      if (count === 0 || (toldAt !== undefined && Math.abs(now - toldAt) < DAY_MS)) return;
      log.warn({ code: "dead-expired", jobs: count }, "dead letters were removed: they are older than `keepDeadDays`");
      [count, toldAt] = [0, now];
    },
  };
}

/** The time by which things are too old to be stored, milliseconds since the epoch. */
export interface TrustedTime {
  now(): number;
  /** What a restart goes on from: a clock that is behind leaves it where it was for a while. */
  readonly reached: number;
  /** So much of it passes by the timers until it is asked again: no setting of the clock moves those. */
  pass(ms: number): void;
}

/** How much faster than time itself: a month that the machine was off is caught up with in twelve hours. */
const CATCH_UP = 60;

/**
 * Never ahead of the clock, and it does not jump ahead with it: it begins where the last process was, or at the newest stamp that is stored, and
 * catches up. A clock that is set a year ahead by mistake makes things too early old by one hour each minute, until it is set right; a
 * restart meanwhile does not believe it. It goes back to one that is behind as slowly: a clock that begins in 1970 at each boot delays
 * it by an hour for each minute until it is set.
 * @param begin undefined: nothing is there that could be removed by mistake
 */
export function createTrustedTime(clock: () => number, begin: number | undefined): TrustedTime {
  let reached = begin ?? clock();
  return {
    now: () => Math.min(reached, clock()),
    get reached() {
      return reached;
    },
    pass(ms) {
      const step = ms * CATCH_UP;
      reached = Math.max(Math.min(reached, clock()) + step, reached - step);
    },
  };
}
