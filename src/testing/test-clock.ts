import type { Clock } from "../clock.ts";

/** A clock that only advances when a test says so. */
export interface TestClock extends Clock {
  /**
   * Advances the time: timers fire in order, new ones included, each followed by a few turns of the event loop. Does not wait
   * for I/O such as a socket: `receiver.idle()` does.
   *
   * @param ms milliseconds
   */
  advance(ms: number): Promise<void>;
}

interface Pending {
  readonly at: number;
  readonly run: () => void;
}

/**
 * Makes a clock for tests: retries, timeouts and windows of hours pass in milliseconds.
 *
 * @param start @default 2026-01-02T03:04:05Z
 * @example
 * const clock = testClock();
 * const receiver = createReceiver({ secret, inbox: memoryInbox(), clock });
 * await clock.advance(3_600_000);
 */
export function testClock(start: Date = new Date("2026-01-02T03:04:05Z")): TestClock {
  const timers = new Set<Pending>();
  let time = start.getTime();

  function nextUntil(end: number): Pending | undefined {
    let next: Pending | undefined;
    for (const timer of timers) if (timer.at <= end && (next === undefined || timer.at < next.at)) next = timer;
    return next;
  }

  /** Never goes back: two calls may overlap. */
  async function advanceTo(end: number): Promise<void> {
    await turns();
    for (let timer = nextUntil(end); timer !== undefined; timer = nextUntil(end)) {
      timers.delete(timer);
      time = Math.max(time, timer.at);
      timer.run();
      await turns();
    }
    time = Math.max(time, end);
  }

  const clock: TestClock = {
    now: () => time,
    setTimer(run, ms) {
      const timer = { at: time + Math.max(ms, 0), run };
      timers.add(timer);
      return { clear: () => void timers.delete(timer) };
    },
    advance: (ms) => advanceTo(time + ms),
  };
  skippers.set(clock, () => advanceTo(nextUntil(Number.MAX_VALUE)?.at ?? time));
  return clock;
}

/** Advances to the next timer; undefined for any other clock. */
export function skipperOf(clock: Clock): (() => Promise<void>) | undefined {
  return skippers.get(clock);
}

const skippers = new WeakMap<Clock, () => Promise<void>>();

/** A commit, a claim and a synchronous handler take a few turns of the event loop. */
const TURNS = 10;

async function turns(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
