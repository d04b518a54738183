import type { Attributes, BatchObservableCallback, Meter } from "@opentelemetry/api";
import type { Health, Receiver } from "../../../src/index.ts";
import type { Internals } from "../../../src/receiver/internals.ts";
import { countsOfInbox } from "../inbox-counts.ts";
import { attributesOf, CONVENTIONAL, CONVENTIONAL_METRICS, type Operation } from "./names.ts";

/** Upper bounds in seconds, of the conventions. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

interface Ended {
  /** Requests, or jobs. */
  readonly count: number;
  /** By `performance.now()`. */
  readonly startedAt: number;
  readonly errorType: string | undefined;
  readonly consumer?: string;
}

export type Measures = ReturnType<typeof createMeasures>;

/** A counter and a duration of each operation. */
export function createMeasures(meter: Meter, destination: string) {
  function measure(operation: Operation, counter: string, duration: string) {
    const messages = meter.createCounter(counter, { unit: "{message}" });
    const durations = meter.createHistogram(duration, { unit: "s", advice: { explicitBucketBoundaries: BOUNDS } });
    /** By consumer. */
    const all = new Map<string | undefined, Attributes>();
    return ({ count, startedAt, errorType, consumer }: Ended): void => {
      let attributes = all.get(consumer);
      if (attributes === undefined) all.set(consumer, (attributes = attributesOf(operation, destination, consumer)));
      if (errorType !== undefined) attributes = { ...attributes, [CONVENTIONAL.errorType]: errorType };
      messages.add(count, attributes);
      durations.record((performance.now() - startedAt) / 1_000, attributes);
    };
  }
  const { sent, operationDuration, consumed, processDuration } = CONVENTIONAL_METRICS;
  return {
    send: measure("send", sent, operationDuration),
    process: measure("process", consumed, processDuration),
  };
}

const GAUGES: readonly (readonly [name: string, unit: string, of: (counts: Health) => number])[] = [
  ["hookline.jobs.waiting", "{job}", ({ waiting }) => waiting],
  ["hookline.jobs.oldest_waiting", "s", ({ oldestWaitingMs }) => oldestWaitingMs / 1_000],
  ["hookline.jobs.dead", "{job}", ({ dead }) => dead],
  ["hookline.jobs.unhandled", "{job}", ({ unhandled }) => unhandled],
  ["hookline.jobs.paused", "{job}", ({ pausedWaiting = 0 }) => pausedWaiting],
  ["hookline.lanes.blocked", "{lane}", ({ blockedLanes }) => blockedLanes],
];

/** Observes the numbers of `health()` until the returned function is called. */
export function observeInbox(meter: Meter, receiver: Receiver, internals: Internals): () => void {
  const gauges = GAUGES.map(([name, unit, of]) => ({ of, gauge: meter.createObservableGauge(name, { unit }) }));
  const attributes = { [CONVENTIONAL.destination]: internals.name };
  const observe: BatchObservableCallback = async (result) => {
    const counts = countsOfInbox(await receiver.health(), internals);
    if (counts !== undefined) for (const { gauge, of } of gauges) result.observe(gauge, of(counts), attributes);
  };
  const all = gauges.map(({ gauge }) => gauge);
  meter.addBatchObservableCallback(observe, all);
  return () => meter.removeBatchObservableCallback(observe, all);
}
