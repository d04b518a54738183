import type { Clock } from "../clock.ts";

/** A clock that stands still until a test advances it. */
export interface TestClock extends Clock {
  /**
   * Lets that much time pass: timers fire in their order, each with a few turns of the loop for what follows from it.
   * @param ms milliseconds
   */
  advance(ms: number): Promise<void>;
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
export function testClock(start = new Date("2026-01-02T03:04:05Z")): TestClock {
  const timers = new Set<{ readonly at: number; readonly run: () => void }>();
  let time = start.getTime();

  function nextUntil(end: number): { readonly at: number; readonly run: () => void } | undefined {
    let next: { readonly at: number; readonly run: () => void } | undefined;
    for (const timer of timers) if (timer.at <= end && (next === undefined || timer.at < next.at)) next = timer;
    return next;
  }

  return {
    now: () => time,
    setTimer(run, ms) {
      const timer = { at: time + Math.max(ms, 0), run };
      timers.add(timer);
      return { clear: () => void timers.delete(timer) };
    },
    async advance(ms) {
      const end = time + ms;
      await turns();
      for (let timer = nextUntil(end); timer !== undefined; timer = nextUntil(end)) {
        timers.delete(timer);
        time = timer.at;
        timer.run();
        await turns();
      }
      time = end;
    },
  };
}

/** Whether a receiver's clock can be advanced. */
export function isTestClock(clock: Clock): clock is TestClock {
  return typeof (clock as Partial<TestClock>).advance === "function";
}

/** A commit, a claim and a handler that waits for nothing take a few turns of the loop. */
const TURNS = 10;

async function turns(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
