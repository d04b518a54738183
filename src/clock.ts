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
