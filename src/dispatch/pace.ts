/** How far ahead to claim: what would start within the next moment, judged by what started in the last one. */
export interface Pace {
  started(now: number): void;
  /** Handlers have nothing to do, though there was more than was claimed last: claims take longer than they do. */
  starved(): void;
  /** Some that were claimed wait. */
  filled(): void;
  /** Between the least and {@link MOST_AHEAD}. */
  ahead(now: number): number;
}

const MOMENT_MS = 50;
/** So long after the last start nothing is known any more. */
const FORGET_MS = 1_000;
/** A claim that waits cannot take along what comes for it meanwhile, and counts as running when the process dies. */
export const MOST_AHEAD = 512;

/** @param least claimed however slow the handlers are */
export function createPace(least: number): Pace {
  let since = 0;
  let current = 0;
  let last = 0;
  /** What starts in a moment is no more than what was claimed: where that was too little, only more of it shows. */
  let tried = 0;

  function roll(now: number): void {
    const age = now - since;
    if (age >= 0 && age < MOMENT_MS) return;
    last = age < 2 * MOMENT_MS && age >= 0 ? current : 0;
    if (age < 0 || age > FORGET_MS) tried = 0;
    current = 0;
    since = now;
  }

  return {
    started(now) {
      roll(now);
      current += 1;
    },
    starved() {
      tried = Math.min(2 * Math.max(least, tried), MOST_AHEAD);
    },
    filled() {
      tried = 0;
    },
    ahead(now) {
      roll(now);
      return Math.max(least, tried, Math.min(Math.max(last, current), MOST_AHEAD));
    },
  };
}
