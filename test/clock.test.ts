import { expect, test, vi } from "vitest";
import { systemClock } from "../src/clock.ts";

test.each([2 ** 31, 999_999_999_000, 8_640_000_000_000_000, Infinity])(
  "the machine's clock takes %d ms for as long as a timer can be, and not for none",
  (ms) => {
    const set = vi.spyOn(globalThis, "setTimeout");
    try {
      systemClock.setTimer(() => {}, ms).clear();
      expect(set.mock.calls.map(([, given]) => given)).toEqual([2 ** 31 - 1]);
    } finally {
      set.mockRestore();
    }
  },
);
