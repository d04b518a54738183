import type { Clock } from "./clock.ts";

/** `close()` aborts handlers' signals this long before its budget ends. */
export const ABORT_BEFORE_END_MS = 5_000;

/** Resolves with the promise's value, or with `late` after `ms` milliseconds. */
export async function withTimeout<T, L = undefined>(
  ms: number,
  promise: Promise<T>,
  { clock, late }: { readonly clock: Clock; readonly late: L },
): Promise<T | L> {
  let timer: { clear(): void } | undefined;
  const timedOut = new Promise<L>((resolve) => {
    timer = clock.setTimer(() => resolve(late), Math.max(ms, 0));
  });
  try {
    return await Promise.race([promise, timedOut]);
  } finally {
    timer?.clear();
  }
}
