/** The first retry comes about this much later, each further one twice as late. */
const FIRST_DELAY_MS = 1_000;
/** No two attempts are further apart. */
const LONGEST_DELAY_MS = 600_000;

/**
 * How long to wait after the attempt of this number has failed: 1 s doubling to 10 min, with equal jitter (half of it is
 * certain, half is random, so that what failed together does not come back together).
 * @param attempt from 1
 * @param random from 0 to below 1
 * @returns milliseconds
 */
export function backoffMs(attempt: number, random: number): number {
  const full = Math.min(FIRST_DELAY_MS * 2 ** Math.min(attempt - 1, 30), LONGEST_DELAY_MS);
  return Math.round(full / 2 + (full / 2) * random);
}
