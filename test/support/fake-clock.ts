import type { Clock } from "hookline";
import { turns } from "./event-loop.ts";

export interface FakeClock extends Clock {
  /** Runs what becomes due meanwhile, in order, each with time for what follows from it. */
  advance(ms: number): Promise<void>;
  /** Sets the wall clock forward or back; timers do not notice. */
  jump(ms: number): void;
  /** Timers that have not fired: a test waits for one before it advances. */
  readonly waiting: number;
  date(): Date;
}

/**
 * A clock that stands still until a test advances it.
 * @param follow what it waits for after each timer; some turns of the loop
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
    date: () => new Date(time + offset),
    setTimer(run, ms) {
      const timer = { at: time + ms, run };
      timers.add(timer);
      return { clear: () => void timers.delete(timer) };
    },
    async advance(ms) {
      const end = time + ms;
      for (let timer = nextUntil(end); timer !== undefined; timer = nextUntil(end)) {
        timers.delete(timer);
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
