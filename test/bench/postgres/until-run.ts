import { setTimeout as sleep } from "node:timers/promises";

const LOOK_MS = 20;

/**
 * Resolves when so many jobs have run.
 * @param count of those that have run by now
 * @throws Error when they have not by then
 */
export async function untilRun(count: () => Promise<number>, jobs: number, limitMs: number): Promise<void> {
  const endsAt = performance.now() + limitMs;
  for (;;) {
    const ran = await count();
    if (ran >= jobs) return;
    if (performance.now() >= endsAt) throw new Error(`Only ${ran} of ${jobs} jobs ran in ${limitMs / 1_000} s.`);
    await sleep(LOOK_MS);
  }
}
