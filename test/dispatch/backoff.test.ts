import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { backoffMs } from "../../src/dispatch/retries/retry-policy.ts";

const attempt = fc.integer({ min: 1, max: 2 ** 31 });
/** As `Math.random` gives it. */
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

/** The delay without its jitter. */
function full(attempts: number): number {
  return Math.min(1_000 * 2 ** (attempts - 1), 600_000);
}

describe("the back-off", () => {
  test("begins at 1 s and doubles to 10 min", () => {
    const longest = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((at) => backoffMs(at, 1 - Number.EPSILON));
    expect(longest.map((ms) => ms / 1_000)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]);
  });

  test("has equal jitter: half of it is certain, half is random", () => {
    expect(backoffMs(1, 0)).toBe(500);
    expect(backoffMs(1, 0.5)).toBe(750);
    expect(backoffMs(10, 0)).toBe(256_000);
    expect(backoffMs(10, 0.25)).toBe(320_000);
    expect(backoffMs(1_000, 0)).toBe(300_000);
  });

  test("is between half and the whole of the delay, in whole milliseconds, for any attempt and chance", () => {
    fc.assert(
      fc.property(attempt, random, (at, chance) => {
        const ms = backoffMs(at, chance);
        expect(Number.isSafeInteger(ms)).toBe(true);
        expect(ms).toBeGreaterThanOrEqual(full(at) / 2);
        expect(ms).toBeLessThanOrEqual(full(at));
      }),
    );
  });

  test("of a later attempt is never shorter by the same chance", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), random, (at, chance) => {
        expect(backoffMs(at + 1, chance)).toBeGreaterThanOrEqual(backoffMs(at, chance));
      }),
    );
  });

  test("spreads what failed together", () => {
    const delays = Array.from({ length: 100 }, (_, index) => backoffMs(5, index / 100));
    expect(new Set(delays).size).toBe(100);
  });
});
