/** Most of a delay that is made up for: a target that stood still is not flooded afterwards. */
const DEBT_MS = 100;

/**
 * Spreads requests evenly over time.
 *
 * @param perSecond `undefined` for as fast as it goes
 * @returns takes the present time in milliseconds, gives how long the next request has to wait
 */
export function createPace(perSecond: number | undefined): (now: number) => number {
  if (perSecond === undefined) return () => 0;
  let due: number | undefined;
  return (now) => {
    due = Math.max(due ?? now, now - DEBT_MS);
    const wait = Math.max(due - now, 0);
    due += 1_000 / perSecond;
    return wait;
  };
}
