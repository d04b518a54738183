import { setTimeout as sleep } from "node:timers/promises";
import { createPace } from "./pace.ts";

/** How many, and how fast. */
export interface Plan {
  readonly count: number;
  /** In flight at once. */
  readonly concurrency: number;
  /** Per second; `undefined` for as fast as it goes. */
  readonly rate: number | undefined;
}

/** Sends them all, or those that can be begun before the stop; resolves when the last one ended. */
export async function sendMany(
  { count, concurrency, rate }: Plan,
  sendOne: (nth: number) => Promise<void>,
  stop: AbortSignal,
): Promise<void> {
  const pace = createPace(rate);
  let begun = 0;

  async function work(): Promise<void> {
    while (begun < count && !stop.aborted) {
      begun += 1;
      const nth = begun;
      const ms = pace(performance.now());
      // It rejects when the run is stopped, which is looked at below.
      if (ms > 0) await sleep(ms, undefined, { signal: stop }).catch(() => {});
      if (stop.aborted) return;
      await sendOne(nth);
    }
  }

  await Promise.all(Array.from({ length: Math.min(concurrency, count) }, work));
}
