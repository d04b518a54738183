import type { Clock } from "../../clock.ts";

/** So much faster than time itself it follows a wall clock that was set ahead: a day is caught up with in 24 minutes. */
const CATCH_UP = 60;
/** Clocks are set by less than this all the time, milliseconds. */
const NO_LEAP_MS = 1_000;

/**
 * The time that windows of retries are measured by. It is the wall clock's, but does not leap ahead with it: a clock that is set a day ahead
 * by mistake kills no job at its next failure. The time that the machine slept is caught up with, too. A clock without
 * `monotonic` is believed.
 */
export function createRetryTime({ now, monotonic }: Clock): () => number {
  if (monotonic === undefined) return now;
  let last = { wall: now(), passed: monotonic() };
  let behind = 0;

  return () => {
    const time = { wall: now(), passed: monotonic() };
    const sinceMs = time.passed - last.passed;
    const leaptMs = time.wall - last.wall - sinceMs;
    last = time;
    behind = Math.max(behind - CATCH_UP * sinceMs, 0);
    // A clock that is set right again was ahead by what is left of it.
    if (Math.abs(leaptMs) > NO_LEAP_MS) behind = Math.max(behind + leaptMs, 0);
    return time.wall - behind;
  };
}
