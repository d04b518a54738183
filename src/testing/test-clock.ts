import type { Clock } from "../clock.ts";

/** A clock that stands still until a test advances it. */
export interface TestClock extends Clock {
  /**
   * Lets that much time pass: timers fire in their order, those set meanwhile too, each with a few turns of the loop for
   * what follows from it. What waits for the world outside, such as a socket, is not waited for: `receiver.idle()` does.
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
 * Makes the hours of a test pass in milliseconds: retries, time limits and windows follow it.
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

  /** Never backwards: two may advance it at once. */
  async function passUntil(end: number): Promise<void> {
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
    advance: (ms) => passUntil(time + ms),
  };
  skippers.set(clock, () => passUntil(nextUntil(Number.MAX_VALUE)?.at ?? time));
  return clock;
}

/** Lets time pass until the next timer has fired; undefined for a clock that passes by itself. */
export function skipperOf(clock: Clock): (() => Promise<void>) | undefined {
  return skippers.get(clock);
}

const skippers = new WeakMap<Clock, () => Promise<void>>();

/** A commit, a claim and a handler that waits for nothing take a few turns of the loop. */
const TURNS = 10;

async function turns(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
