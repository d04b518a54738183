import type { Clock } from "../clock.ts";
import { within } from "../within.ts";

/** One piece of work for each key at a time: who asks meanwhile gets the same result. */
export interface SingleFlight<T> {
  /**
   * Joins what is under way, or begins.
   * @param work never rejects
   * @returns undefined where too many are late, and no other is begun
   */
  run(key: string, work: () => Promise<T>): Promise<T> | undefined;
  /** Keys whose work is under way and not late. */
  readonly size: number;
  has(key: string): boolean;
}

/** Work of one key that is late: beside so many no other is begun. */
const MOST_LATE = 3;
/** After that nobody counts on its end, or a few that never end would shut their key for ever. */
const GIVEN_UP_MS = 60_000;

/** @param deadlineMs work that takes longer is joined no more: what hangs must not hold up all that comes after it */
export function createSingleFlight<T>(deadlineMs: number, clock: Clock): SingleFlight<T> {
  const flights = new Map<string, Promise<T>>();
  const late = new Map<string, number>();

  async function watch(key: string, flight: Promise<T>): Promise<void> {
    const ended = await within(
      deadlineMs,
      flight.then(() => true),
      { clock, late: false },
    );
    flights.delete(key);
    if (!ended) hold(key, flight);
  }

  function hold(key: string, flight: Promise<T>): void {
    late.set(key, (late.get(key) ?? 0) + 1);
    let held = true;
    const free = (): void => {
      timer.clear();
      if (!held) return;
      held = false;
      const left = (late.get(key) ?? 0) - 1;
      if (left > 0) late.set(key, left);
      else late.delete(key);
    };
    const timer = clock.setTimer(free, GIVEN_UP_MS);
    timer.unref?.();
    void flight.then(free);
  }

  return {
    run(key, work) {
      const joined = flights.get(key);
      if (joined !== undefined) return joined;
      if ((late.get(key) ?? 0) >= MOST_LATE) return undefined;
      const flight = work();
      flights.set(key, flight);
      void watch(key, flight);
      return flight;
    },
    get size() {
      return flights.size;
    },
    has: (key) => flights.has(key),
  };
}
