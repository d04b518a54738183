import { expect, test, vi } from "vitest";
import { systemClock, toClock, type Clock } from "../src/clock.ts";
import { toLogger } from "../src/logger.ts";

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

test("the times of a clock with fractions of a millisecond are whole, as times are stored", () => {
  const clock = toClock({ ...systemClock, now: () => 1_767_323_045_000.75 }, toLogger(false));
  expect(clock.now()).toBe(1_767_323_045_000);
});

test("a custom clock is asked for no longer wait than a timer can be: it may be over plain `setTimeout`", () => {
  const asked: number[] = [];
  const setTimer: Clock["setTimer"] = (run, ms) => {
    asked.push(ms);
    return systemClock.setTimer(run, ms);
  };
  const clock = toClock({ ...systemClock, setTimer }, toLogger(false));
  for (const ms of [1, 2 ** 31 - 1, 2 ** 31, Infinity]) clock.setTimer(() => {}, ms).clear();
  expect(asked).toEqual([1, 2 ** 31 - 1, 2 ** 31 - 1, 2 ** 31 - 1]);
});
