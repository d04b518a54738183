import type { Observer } from "../../../src/index.ts";
import type { Meter } from "../../../src/observe/instruments.ts";

/** Upper bounds in seconds; what is above the last one is counted too. */
const BUCKETS = {
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
  /** By status. */
  const requests = createHistograms(BUCKETS.request);
  /** By consumer. */
  const handlers = createHistograms(BUCKETS.handler);
  const waits = createHistograms(BUCKETS.wait);
  const storing = newHistogram(BUCKETS.request);
  /** By consumer, then by type. */
  const jobs = new Map<string | undefined, Map<string, JobCounts>>();
  const totals = { unsubscribed: 0, gaps: 0 };

  /** From now on it has a series. @param consumer undefined for skipped jobs */
  function jobsOf(consumer: string | undefined, type: string): JobCounts {
    const ofConsumer = valueIn(jobs, consumer, () => new Map<string, JobCounts>());
    return valueIn(ofConsumer, type, () =>
      consumer === undefined
        ? { labels: { type }, finished: { skipped: 0 }, failed: 0 }
        : { labels: { consumer, type }, finished: { done: 0, merged: 0, dead: 0 }, failed: 0 },
    );
  }

  const meter: Meter = {
    stored: (durationMs) => observe(storing, durationMs),
    began({ attempt, replayOf, consumer, delivery }, now) {
      if (attempt === 1 && replayOf === undefined) waits.observe(consumer, now - delivery.receivedAt);
    },
    called: handlers.observe,
    failed: (consumer, type) => void (jobsOf(consumer, type).failed += 1),
    finished(consumer, type, outcome) {
      const { finished } = jobsOf(consumer, type);
      finished[outcome] = (finished[outcome] ?? 0) + 1;
    },
    gaps: (count) => void (totals.gaps += count),
  };
  const observer: Observer = {
    answered: ({ status, durationMs }) => requests.observe(String(status), durationMs),
    unsubscribed: () => void (totals.unsubscribed += 1),
  };
  return { meter, observer, requests, storing, waits, handlers, jobs, jobsOf, totals };
}

/** What happened to the jobs of one consumer and type. */
interface JobCounts {
  readonly labels: Readonly<Record<string, string>>;
  readonly finished: { [outcome in Parameters<Meter["finished"]>[2]]?: number };
  failed: number;
}

/** Histograms by the value of a label. */
function createHistograms(bounds: readonly number[]) {
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

function newHistogram(bounds: readonly number[]): Histogram {
  return { bounds, counts: new Float64Array(bounds.length + 1), sum: 0 };
}

function valueIn<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

function observe(histogram: Histogram, durationMs: number): void {
  const { bounds, counts } = histogram;
  const seconds = Math.max(durationMs, 0) / 1_000; // below 0 the wall clock went back
  let bucket = 0;
  while (bucket < bounds.length && seconds > (bounds[bucket] ?? Infinity)) bucket += 1;
  counts[bucket] = (counts[bucket] ?? 0) + 1;
  histogram.sum += seconds;
}
