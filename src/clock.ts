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
  /**
   * Milliseconds since any moment, which nobody sets: it shows that the wall clock was set ahead. Optional for custom clocks: without it
   * all that `now` says has passed.
   */
  monotonic?(): number;
}

/** The limit of `setTimeout`: a longer delay would fire at once. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1;

/** A wait for a time of the wall clock looks at it this often: no timer follows it when it is set, or while the machine sleeps. */
export const LOOK_AGAIN_MS = 60_000;

/** The machine's clock. */
export const systemClock: Clock & Required<Pick<Clock, "monotonic">> = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(run, ms) {
    const timer = setTimeout(run, Math.min(Math.max(ms, 0), LONGEST_TIMER_MS));
    return { clear: () => clearTimeout(timer), unref: () => void timer.unref() };
  },
};

/** Milliseconds since any moment, for durations: a wall clock that somebody sets does not change them, unless a custom clock has no other. */
export const passed = (clock: Clock): number => clock.monotonic?.() ?? clock.now();

/**
 * Milliseconds since some moment, for durations: they never go back, and a wall clock that somebody sets does not change them. Of a custom
 * clock it is the latest time that it gave.
 */
export function toMonotonic(clock: Pick<Clock, "now">): () => number {
  if (clock === systemClock) return () => performance.now();
  let latest = -Infinity;
  return () => (latest = Math.max(latest, clock.now()));
}

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

  /** What one of its methods gives, or the machine's clock where that is no time. */
  function timeFrom(method: "now" | "monotonic"): number {
    try {
      const time = given?.[method]?.();
      if (typeof time === "number" && Math.abs(time) <= MAX_DATE_MS) return Math.floor(time);
      failed(new RangeError(`${method}() gave ${String(time)}.`));
    } catch (error) {
      failed(error);
    }
    return systemClock[method]();
  }

  return {
    now: () => timeFrom("now"),
    ...(given.monotonic !== undefined && { monotonic: () => timeFrom("monotonic") }),
    setTimer(run, ms) {
      try {
        const timer = given.setTimer(run, Math.min(ms, LONGEST_TIMER_MS)); // it may be over plain `setTimeout`
        catchRejection(timer);
        return { clear: () => attempt(() => timer.clear()), unref: () => attempt(() => timer.unref?.()) };
      } catch (error) {
        failed(error);
        return systemClock.setTimer(run, ms);
      }
    },
  };
}
