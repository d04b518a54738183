import type { Clock } from "../clock.ts";
import { withTimeout } from "../timeout.ts";

/** One piece of work for each key at a time: who asks meanwhile gets the same result. */
export interface SingleFlight<T> {
  /**
   * Joins what is under way, or begins: where none ever ends, one each deadline.
   * @param work never rejects
   */
  run(key: string, work: () => Promise<T>): Promise<T>;
  /** Keys whose work is under way and not late. */
  readonly size: number;
  /** Work of all keys that is late. */
  readonly late: number;
  has(key: string): boolean;
}

/** After that nobody counts on its end, or work that never ends would be counted for ever. */
const GIVEN_UP_MS = 60_000;

/** @param timeoutMs work that takes longer is joined no more: what hangs must not hold up all that comes after it */
export function createSingleFlight<T>(timeoutMs: number, clock: Clock): SingleFlight<T> {
  const flights = new Map<string, Promise<T>>();
  const late = new Set<Promise<T>>();

  async function watch(key: string, flight: Promise<T>): Promise<void> {
    const ended = await withTimeout(
      timeoutMs,
      flight.then(() => true),
      { clock, late: false },
    );
    flights.delete(key);
    if (!ended) hold(flight);
  }

  function hold(flight: Promise<T>): void {
    late.add(flight);
    const timer = clock.setTimer(() => late.delete(flight), GIVEN_UP_MS);
    timer.unref?.();
    void flight.then(() => {
      timer.clear();
      late.delete(flight);
    });
  }

  return {
    run(key, work) {
      const joined = flights.get(key);
      if (joined !== undefined) return joined;
      const flight = work();
      flights.set(key, flight);
      void watch(key, flight);
      return flight;
    },
    get size() {
      return flights.size;
    },
    get late() {
      return late.size;
    },
    has: (key) => flights.has(key),
  };
}
