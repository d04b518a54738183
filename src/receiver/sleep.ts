import type { Clock } from "../clock.ts";

/** Waits between the parts of long work, until the receiver closes. */
export interface Sleeper {
  /** Resolves after `ms` milliseconds, at the earliest in the next turn of the loop; at once when it is stopped. */
  pause(ms: number): Promise<void>;
  /** Nobody waits any more. */
  stop(): void;
  readonly stopped: boolean;
}

export function createSleeper(clock: Clock): Sleeper {
  const waiting = new Set<() => void>();
  let stopped = false;

  return {
    async pause(ms) {
      if (stopped) return;
      await new Promise<void>((resolve) => {
        if (ms === 0) {
          setImmediate(resolve);
          return;
        }
        const timer = clock.setTimer(end, ms);
        waiting.add(end);

        function end(): void {
          waiting.delete(end);
          timer.clear();
          resolve();
        }
      });
    },
    stop() {
      stopped = true;
      for (const end of waiting) end();
    },
    get stopped() {
      return stopped;
    },
  };
}
