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

export type Counting = ReturnType<typeof createCounting>;

/** Counts all that `stats()` does not tell apart. */
export function createCounting() {
  const requests = new Map<string, Histogram>();
  const waits = new Map<string, Histogram>();
  const handlers = new Map<string, Histogram>();
  const jobs = new Map<string, ReturnType<typeof newJobCounts>>();
  const storing = newHistogram(BUCKETS.request);
  const totals = { unsubscribed: 0, gaps: 0 };

  /** Of one consumer and type, from now on. Skipped jobs are of no consumer. */
  function jobsOf(consumer: string | undefined, type: string) {
    return valueIn(jobs, `${type} ${consumer ?? ""}`, () => newJobCounts(consumer, type));
  }

  const meter: Meter = {
    stored: (durationMs) => observe(storing, durationMs),
    began: (consumer, waitedMs) => observeIn(waits, consumer, BUCKETS.wait, waitedMs),
    called: (consumer, durationMs) => observeIn(handlers, consumer, BUCKETS.handler, durationMs),
    failed: (consumer, type) => void (jobsOf(consumer, type).failed += 1),
    finished: (consumer, type, outcome) => void (jobsOf(consumer, type)[outcome] += 1),
    gaps: (count) => void (totals.gaps += count),
  };
  const observer: Observer = {
    answered: ({ status, durationMs }) => observeIn(requests, String(status), BUCKETS.request, durationMs),
    unsubscribed: () => void (totals.unsubscribed += 1),
  };
  return { meter, observer, requests, storing, waits, handlers, jobs, jobsOf, totals };
}

export function newHistogram(bounds: readonly number[]): Histogram {
  return { bounds, counts: new Float64Array(bounds.length + 1), sum: 0 };
}

function newJobCounts(consumer: string | undefined, type: string) {
  return { consumer, type, done: 0, merged: 0, dead: 0, skipped: 0, failed: 0 };
}

function valueIn<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

function observeIn(map: Map<string, Histogram>, key: string, bounds: readonly number[], durationMs: number): void {
  observe(
    valueIn(map, key, () => newHistogram(bounds)),
    durationMs,
  );
}

function observe(histogram: Histogram, durationMs: number): void {
  const { bounds, counts } = histogram;
  const seconds = Math.max(durationMs, 0) / 1_000; // below 0 the wall clock went back
  const above = bounds.findIndex((bound) => seconds <= bound);
  const bucket = above < 0 ? bounds.length : above;
  counts[bucket] = (counts[bucket] ?? 0) + 1;
  histogram.sum += seconds;
}
