import type { Clock } from "hookline";
import { turns } from "./event-loop.ts";

export interface FakeClock extends Clock {
  /** Runs due timers in order; after each one its consequences run. */
  advance(ms: number): Promise<void>;
  /** Sets the wall clock forward or back; timers are not affected. */
  jump(ms: number): void;
  /** Timers that have not fired: a test waits for one before it advances. */
  readonly waiting: number;
  date(): Date;
}

/** Without it a loop of timers would go on beside the tests that follow. */
const MOST_AT_ONCE = 20_000;

/**
 * A clock that stands still until a test advances it.
 * @param follow awaited after each timer: some turns of the event loop
 */
export function fakeClock(start = new Date("2026-05-06T07:08:09Z"), follow: () => Promise<void> = turns): FakeClock {
  const timers = new Set<{ readonly at: number; readonly run: () => void }>();
  let time = start.getTime();
  let offset = 0;

  function nextUntil(end: number) {
    const due = [...timers].filter(({ at }) => at <= end);
    return due.length === 0 ? undefined : due.reduce((first, timer) => (timer.at < first.at ? timer : first));
  }

  return {
    now: () => time + offset,
    monotonic: () => time,
    date: () => new Date(time + offset),
    setTimer(run, ms) {
      const timer = { at: time + ms, run };
      timers.add(timer);
      return { clear: () => void timers.delete(timer) };
    },
    async advance(ms) {
      const end = time + ms;
      let fired = 0;
      for (let timer = nextUntil(end); timer !== undefined; timer = nextUntil(end)) {
        timers.delete(timer);
        fired = timer.at > time ? 1 : fired + 1;
        if (fired > MOST_AT_ONCE) throw new Error(`More than ${MOST_AT_ONCE} timers at one time: they set each other.`);
        time = Math.max(time, timer.at);
        timer.run();
        await follow();
      }
      time = end;
    },
    jump(ms) {
      offset += ms;
    },
    get waiting() {
      return timers.size;
    },
  };
}
