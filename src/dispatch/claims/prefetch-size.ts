const WINDOW_MS = 50;
/** A prefetched claim cannot merge with what is stored after it, and counts as running when the process dies. */
const MOST_AHEAD = 512;

/**
 * How many jobs to claim ahead: what would start within the next {@link WINDOW_MS}, judged by what started in the last one.
 * Twice `concurrency` are claimed however slow the handlers are, or `concurrency` where that is more than {@link MOST_AHEAD}.
 */
export function createPrefetchSize(concurrency: number) {
  const least = Math.min(2 * concurrency, Math.max(concurrency, MOST_AHEAD));
  let since = 0;
  let current = 0;
  let last = 0;
  /** No more starts in a window than was claimed: where that was too little, only claiming more shows it. */
  let tried = 0;

  function roll(now: number): void {
    const age = now - since;
    if (age >= 0 && age < WINDOW_MS) return;
    last = age < 2 * WINDOW_MS && age >= 0 ? current : 0;
    current = 0;
    since = now;
  }

  return {
    started(now: number) {
      roll(now);
      current += 1;
    },
    /** Slots are empty although the last claim found all that it had room for: claims take longer than handlers. */
    starved() {
      tried = Math.min(2 * Math.max(least, tried), MOST_AHEAD);
    },
    /** More was claimed than could start, or all that is due. */
    fed() {
      tried = 0;
    },
    /** Between `least` and {@link MOST_AHEAD}. */
    size(now: number): number {
      roll(now);
      return Math.max(least, tried, Math.min(Math.max(last, current), MOST_AHEAD));
    },
  };
}
