import type { Clock } from "../clock.ts";

/** A clock whose time passes only when it is told to. */
export interface VirtualClock extends Clock {
  /**
   * Runs what becomes due in order, and waits before each timer until all is quiet. A second call begins when the first has ended.
   *
   * @param ms milliseconds
   * @param quiet resolves when nothing is under way that does not itself wait for this clock
   */
  advance(ms: number, quiet: () => Promise<void>): Promise<void>;
}

interface Pending {
  readonly at: number;
  readonly run: () => void;
}

/** Makes a clock that stands at `start`, milliseconds since the epoch. */
export function createVirtualClock(start: number): VirtualClock {
  const timers = new Set<Pending>();
  let time = start;
  let last: Promise<void> = Promise.resolve();

  /** The earliest; of several the one that was set first. */
  function nextUntil(end: number): Pending | undefined {
    let next: Pending | undefined;
    for (const timer of timers) if (timer.at <= end && (next === undefined || timer.at < next.at)) next = timer;
    return next;
  }

  async function pass(ms: number, quiet: () => Promise<void>): Promise<void> {
    const end = time + ms;
    await quiet();
    for (let timer = nextUntil(end); timer !== undefined; timer = nextUntil(end)) {
      timers.delete(timer);
      time = Math.max(time, timer.at);
      timer.run();
      await quiet();
    }
    time = end;
  }

  return {
    now: () => time,
    setTimer(run, ms) {
      const timer = { at: time + Math.max(ms, 0), run };
      timers.add(timer);
      return { clear: () => void timers.delete(timer) };
    },
    advance(ms, quiet) {
      last = last.then(() => pass(ms, quiet));
      return last;
    },
  };
}
