/** How far ahead to claim: what would start within the next moment, judged by what started in the last one. */
export interface Prefetch {
  started(now: number): void;
  /** Handlers have nothing to do, though a claim found all that it had room for: claims take longer than they do. */
  starved(): void;
  /** More was claimed than could begin, or all that there was. */
  fed(): void;
  /** Between the least and {@link MOST_AHEAD}. */
  ahead(now: number): number;
}

const MOMENT_MS = 50;
/** A claim that waits cannot take along what comes for it meanwhile, and counts as running when the process dies. */
export const MOST_AHEAD = 512;

/** @param least claimed however slow the handlers are */
export function createPrefetch(least: number): Prefetch {
  let since = 0;
  let current = 0;
  let last = 0;
  /** What starts in a moment is no more than what was claimed: where that was too little, only more of it shows. */
  let tried = 0;

  function roll(now: number): void {
    const age = now - since;
    if (age >= 0 && age < MOMENT_MS) return;
    last = age < 2 * MOMENT_MS && age >= 0 ? current : 0;
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
    fed() {
      tried = 0;
    },
    ahead(now) {
      roll(now);
      return Math.max(least, tried, Math.min(Math.max(last, current), MOST_AHEAD));
    },
  };
}
