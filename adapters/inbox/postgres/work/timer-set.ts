import type { Clock, StorageError, Timer } from "../../../../src/adapter.ts";

/** Those that are set, so that all of them can be cleared. */
export interface Timers {
  later(ms: number, run: () => void): void;
  /** Runs something again and again, while a condition holds. An error ends nothing. */
  loopsWhile(condition: () => boolean): Loop;
  clear(): void;
  /** From now on the process may end while some are pending. */
  unref(): void;
}

/** @param nextMs gives the time until the next run from the last one */
type Loop = (ms: number, run: () => Promise<void>, nextMs?: (last: number) => number) => void;

export function createTimers(clock: () => Clock, failed: (error: StorageError) => void): Timers {
  let timers: Timer[] = [];
  let isLoose = false;

  function later(ms: number, run: () => void): void {
    const timer = clock().setTimer(() => {
      timers = timers.filter((one) => one !== timer);
      run();
    }, ms);
    if (isLoose) timer.unref?.();
    timers.push(timer);
  }

  return {
    later,
    loopsWhile(condition) {
      const loop: Loop = (ms, run, nextMs = (last) => last) =>
        later(ms, () => {
          if (!condition()) return;
          run()
            .catch((error: unknown) => failed(error as StorageError))
            .finally(() => void (condition() && loop(nextMs(ms), run, nextMs)));
        });
      return loop;
    },
    clear() {
      for (const timer of timers.splice(0)) timer.clear();
    },
    unref() {
      isLoose = true;
      for (const timer of timers) timer.unref?.();
    },
  };
}
