/** Counts since the receiver was created. */
export interface Counters {
  answered: Record<number, number>;
  refused: Record<string, number>;
  stored: number;
  duplicates: number;
  conflicts: number;
  succeeded: number;
  failed: number;
  retried: number;
  skipped: number;
  dead: number;
  merged: number;
}

export function createCounters(): Counters {
  return {
    answered: {},
    refused: {},
    stored: 0,
    duplicates: 0,
    conflicts: 0,
    succeeded: 0,
    failed: 0,
    retried: 0,
    skipped: 0,
    dead: 0,
    merged: 0,
  };
}

/** Adds 1 to the count of `key`. */
export function tally(counts: Record<string | number, number>, key: string | number): void {
  counts[key] = (counts[key] ?? 0) + 1;
}
