import type { Logger } from "./logger.ts";
import { catchRejection } from "./thrown.ts";

/** A pending timer. */
export interface Timer {
  /** Cancels it. */
  clear(): void;
  /** Lets the process end while the timer is pending. Optional for custom clocks. */
  unref?(): void;
}

/** The receiver's source of time: an option, so that a test can advance it. */
export interface Clock {
  /** Wall-clock time, milliseconds since the epoch; the receiver leaves fractions out. */
  now(): number;
  /** Runs `run` once after `ms` milliseconds, unless cleared. */
  setTimer(run: () => void, ms: number): Timer;
}

/** The limit of `setTimeout`: a longer delay would fire at once. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(run, ms) {
    const timer = setTimeout(run, Math.min(Math.max(ms, 0), LONGEST_TIMER_MS));
    return { clear: () => clearTimeout(timer), unref: () => void timer.unref() };
  },
};

/** The range of a Date, milliseconds. */
const MAX_DATE_MS = 8.64e15;

/**
 * Resolves the `clock` option; the machine's clock by default. When a custom clock throws or returns no valid time, that call uses the
 * machine's clock: otherwise whatever waits for a timer would never end.
 */
export function toClock(given: Clock | undefined, log: Logger): Clock {
  if (given === undefined) return systemClock;
  let isLogged = false;

  function failed(err: unknown): void {
    catchRejection(err);
    if (isLogged) return;
    isLogged = true;
    log.error(
      { code: "clock-failed", err, fix: "Let now() give milliseconds, and setTimer a timer with clear()." },
      "the custom clock fails: the machine's clock is used instead",
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
        if (typeof now === "number" && Math.abs(now) <= MAX_DATE_MS) return Math.floor(now);
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
