import { catchRejection } from "./thrown.ts";
import type { Logger } from "./logger.ts";

/** A timer that was set. */
export interface Timer {
  /** It does not fire any more. */
  clear(): void;
  /** It does not keep the process. Best effort: a clock of one's own need not know it. */
  unref?(): void;
}

/**
 * Where the receiver gets its time from: handed in, so that a test can advance it.
 */
export interface Clock {
  /** Wall-clock time, milliseconds since the epoch. */
  now(): number;
  /** Runs `run` once after `ms` milliseconds, unless cleared. */
  setTimer(run: () => void, ms: number): Timer;
}

/** `setTimeout` takes no more than this; a longer delay would fire at once. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1;

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(run, ms) {
    const timer = setTimeout(run, Math.min(Math.max(ms, 0), LONGEST_TIMER_MS));
    return { clear: () => clearTimeout(timer), unref: () => void timer.unref() };
  },
};

/** The last moment that a Date can say, in milliseconds. */
const LATEST_MS = 8.64e15;

/**
 * The clock of an option: the machine's where none is given. Where one of the user's own throws, or says what is no time, the machine's
 * takes its place for that call: all that waits for a timer would never end.
 */
export function toClock(given: Clock | undefined, log: Logger): Clock {
  if (given === undefined) return systemClock;
  let isTold = false;

  function failed(err: unknown): void {
    catchRejection(err);
    if (isTold) return;
    isTold = true;
    log.error(
      { code: "clock-failed", err, fix: "Let now() give milliseconds, and setTimer a timer with clear()." },
      "the clock of the options does not work: the machine's takes its place",
    );
  }

  function attempt(clear: () => void): void {
    try {
      clear();
    } catch (error) {
      failed(error);
    }
  }

  return {
    now() {
      try {
        const now = given.now();
        if (typeof now === "number" && Math.abs(now) <= LATEST_MS) return now;
        failed(new RangeError(`now() gave ${String(now)}.`));
      } catch (error) {
        failed(error);
      }
      return systemClock.now();
    },
    setTimer(run, ms) {
      try {
        const timer = given.setTimer(run, ms);
        catchRejection(timer);
        return { clear: () => attempt(() => timer.clear()), unref: () => attempt(() => timer.unref?.()) };
      } catch (error) {
        failed(error);
        return systemClock.setTimer(run, ms);
      }
    },
  };
}
