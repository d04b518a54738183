import type { Observer } from "../../../src/index.ts";
import type { Meter } from "../../../src/observe/instruments.ts";

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

/** What happened to the jobs of one consumer and type. */
export interface JobCounts {
  done: number;
  merged: number;
  dead: number;
  skipped: number;
  failed: number;
}

/** All that `stats()` does not tell apart. */
export interface Counting {
  readonly meter: Meter;
  readonly observer: Observer;
  /** By status. */
  readonly requests: ReadonlyMap<number, Histogram>;
  readonly storing: Histogram;
  /** By consumer. */
  readonly waits: ReadonlyMap<string, Histogram>;
  readonly handlers: ReadonlyMap<string, Histogram>;
  /** By consumer, then by type. Skipped jobs are of no consumer. */
  readonly jobs: ReadonlyMap<string | undefined, ReadonlyMap<string, JobCounts>>;
  readonly unsubscribed: () => number;
  readonly gaps: () => number;
}

export function createCounting(): Counting {
  const requests = new Map<number, Histogram>();
  const waits = new Map<string, Histogram>();
  const handlers = new Map<string, Histogram>();
  const jobs = new Map<string | undefined, Map<string, JobCounts>>();
  const storing = newHistogram(BUCKETS.request);
  let unsubscribed = 0;
  let gaps = 0;

  function jobsOf(consumer: string | undefined, type: string): JobCounts {
    let types = jobs.get(consumer);
    if (types === undefined) jobs.set(consumer, (types = new Map()));
    let counts = types.get(type);
    if (counts === undefined) types.set(type, (counts = newJobCounts()));
    return counts;
  }

  return {
    meter: {
      stored: (durationMs) => observe(storing, durationMs),
      began: (consumer, waitedMs) => observe(histogramOf(waits, consumer, BUCKETS.wait), waitedMs),
      called: (consumer, durationMs) => observe(histogramOf(handlers, consumer, BUCKETS.handler), durationMs),
      failed: (consumer, type) => void (jobsOf(consumer, type).failed += 1),
      finished: (consumer, type, outcome) => void (jobsOf(consumer, type)[outcome] += 1),
      gaps: (count) => void (gaps += count),
    },
    observer: {
      answered: ({ status, durationMs }) => observe(histogramOf(requests, status, BUCKETS.request), durationMs),
      unsubscribed: () => void (unsubscribed += 1),
    },
    requests,
    storing,
    waits,
    handlers,
    jobs,
    unsubscribed: () => unsubscribed,
    gaps: () => gaps,
  };
}

export function newHistogram(bounds: readonly number[]): Histogram {
  return { bounds, counts: new Float64Array(bounds.length + 1), sum: 0 };
}

export function newJobCounts(): JobCounts {
  return { done: 0, merged: 0, dead: 0, skipped: 0, failed: 0 };
}

function histogramOf<K>(histograms: Map<K, Histogram>, key: K, bounds: readonly number[]): Histogram {
  let histogram = histograms.get(key);
  if (histogram === undefined) histograms.set(key, (histogram = newHistogram(bounds)));
  return histogram;
}

function observe(histogram: Histogram, durationMs: number): void {
  const { bounds, counts } = histogram;
  const seconds = Math.max(durationMs, 0) / 1_000; // below 0 the wall clock went back
  let bucket = 0;
  while (bucket < bounds.length && seconds > (bounds[bucket] ?? Infinity)) bucket += 1;
  counts[bucket] = (counts[bucket] ?? 0) + 1;
  histogram.sum += seconds;
}
