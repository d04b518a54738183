/** Upper bounds in seconds; what is above the last one is counted too. */
export const BUCKETS = {
  request: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  handler: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  wait: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600],
} as const;

/** Durations by size. */
export interface Histogram {
  readonly bounds: readonly number[];
  /** How many are in each bucket alone; the last has what is above all bounds. */
  readonly counts: Float64Array;
  sum: number;
}

/** Histograms by the value of a label. */
export function createHistograms(bounds: readonly number[]) {
  const all = new Map<string, Histogram>();
  const of = (key: string): Histogram => valueIn(all, key, () => newHistogram(bounds));
  return {
    observe: (key: string, durationMs: number): void => observe(of(key), durationMs),
    /** @param known empty where nothing was observed */
    all(known: readonly string[]): ReadonlyMap<string, Histogram> {
      for (const key of known) of(key);
      return all;
    },
  };
}

export function newHistogram(bounds: readonly number[]): Histogram {
  return { bounds, counts: new Float64Array(bounds.length + 1), sum: 0 };
}

export function observe(histogram: Histogram, durationMs: number): void {
  const { bounds, counts } = histogram;
  const seconds = Math.max(durationMs, 0) / 1_000; // below 0 the wall clock went back
  let bucket = 0;
  while (bucket < bounds.length && seconds > (bounds[bucket] ?? Infinity)) bucket += 1;
  counts[bucket] = (counts[bucket] ?? 0) + 1;
  histogram.sum += seconds;
}

/** The key's value, made where there is none. */
export function valueIn<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}
