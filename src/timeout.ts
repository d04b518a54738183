import type { Clock } from "./clock.ts";

/** Handlers are told to stop so long before the end of a close. */
export const ABORT_BEFORE_END_MS = 5_000;

/** Resolves with the promise's value, or with `late` when the time is over first. */
export async function withTimeout<T, L = undefined>(
  ms: number,
  promise: Promise<T>,
  { clock, late }: { readonly clock: Clock; readonly late: L },
): Promise<T | L> {
  let timer: { clear(): void } | undefined;
  const over = new Promise<L>((resolve) => {
    timer = clock.setTimer(() => resolve(late), Math.max(ms, 0));
  });
  try {
    return await Promise.race([promise, over]);
  } finally {
    timer?.clear();
  }
}
