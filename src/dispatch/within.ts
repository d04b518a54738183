import type { Clock } from "../clock.ts";

/** Handlers are told to stop so long before the end of a close. */
export const ABORT_BEFORE_END_MS = 5_000;

/** Resolves with the promise, or when the time is over. */
export async function within(ms: number, promise: Promise<unknown>, clock: Clock): Promise<void> {
  let timer: { clear(): void } | undefined;
  const over = new Promise<void>((resolve) => {
    timer = clock.setTimer(resolve, Math.max(ms, 0));
  });
  await Promise.race([promise, over]);
  timer?.clear();
}
