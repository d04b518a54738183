import { testClock, type TestClock } from "../../../src/testing/test-clock.ts";

/** A clock under which an inbox is tried. */
export interface WallClock extends TestClock {
  /** Sets the wall clock forward or back; timers do not notice. */
  jump(ms: number): void;
}

/** Longer stretches are jumped over, but for their end: an inbox that polls would make millions of steps of a month. */
const LONGEST_WALK_MS = 2_000;

export function wallClock(): WallClock {
  const clock = testClock();
  let offset = 0;
  return {
    now: () => clock.now() + offset,
    setTimer: clock.setTimer,
    jump: (ms) => void (offset += ms),
    async advance(ms) {
      const walk = Math.min(ms, LONGEST_WALK_MS);
      offset += ms - walk;
      await clock.advance(walk);
    },
  };
}
