import type { Clock } from "../../../../src/adapter.ts";

/** The time by which things are too old to be stored. */
export interface TrustedTime {
  now(): number;
  /** So much of it passes by the timers until it is asked again: no setting of the wall clock moves those. */
  pass(ms: number): void;
}

/** How much faster than time itself: a month that the machine was off is caught up with in twelve hours. */
const CATCH_UP = 60;

/**
 * Never ahead of the wall clock, and it does not jump with it: it begins at the newest stamp in the file and catches up. A wall clock that
 * is set a year ahead by mistake makes things too early old by one hour each minute, until it is set right.
 * @param newestAt undefined: nothing is there that could be removed by mistake
 */
export function createTrustedTime(clock: Clock, newestAt: number | undefined): TrustedTime {
  let at = newestAt ?? clock.now();
  return {
    now: () => (at = Math.min(at, clock.now())),
    pass(ms) {
      at += ms * CATCH_UP;
    },
  };
}
