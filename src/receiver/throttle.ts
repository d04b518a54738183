import type { Clock } from "../clock.ts";

/**
 * A line a second for each code: a stranger who sends rubbish must not fill the disk with our log.
 * @returns how many were left out since the last line; `undefined` to leave out this one
 */
export type Throttle = (code: string) => number | undefined;

const INTERVAL_MS = 1_000;

export function createThrottle(clock: Clock): Throttle {
  const codes = new Map<string, { at: number; suppressed: number }>();
  return (code) => {
    const now = clock.now();
    const last = codes.get(code);
    if (last !== undefined && now >= last.at && now - last.at < INTERVAL_MS) {
      last.suppressed += 1;
      return undefined;
    }
    codes.set(code, { at: now, suppressed: 0 });
    return last?.suppressed ?? 0;
  };
}
