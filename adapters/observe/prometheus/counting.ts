import type { Observer } from "../../../src/index.ts";
import type { Meter } from "../../../src/observe/instruments.ts";
import { BUCKETS, createHistograms, newHistogram, observe, valueIn } from "./histograms.ts";

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
