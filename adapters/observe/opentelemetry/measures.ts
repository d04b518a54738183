import type { Attributes, Meter, ObservableGauge } from "@opentelemetry/api";
import type { Receiver } from "../../../src/index.ts";
import type { Internals } from "../../../src/receiver/internals.ts";
import { countsOfInbox } from "../inbox-counts.ts";
import { CONVENTIONAL, CONVENTIONAL_METRICS } from "./names.ts";

/** Counters and durations. */
export interface Measures {
  sent(seconds: number, errorType: string | undefined): void;
  consumed(
    jobs: number,
    call: { readonly seconds: number; readonly consumer: string; readonly errorType: string | undefined },
  ): void;
}

/** Upper bounds in seconds, of the conventions. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

export function createMeasures(meter: Meter, destination: string): Measures {
  const seconds = { unit: "s", advice: { explicitBucketBoundaries: BOUNDS } };
  const messages = { unit: "{message}" };
  const { system, operationName, errorType, consumer } = CONVENTIONAL;
  const sent = meter.createCounter(CONVENTIONAL_METRICS.sent, messages);
  const consumed = meter.createCounter(CONVENTIONAL_METRICS.consumed, messages);
  const operationDuration = meter.createHistogram(CONVENTIONAL_METRICS.operationDuration, seconds);
  const processDuration = meter.createHistogram(CONVENTIONAL_METRICS.processDuration, seconds);
  const common = { [system]: "hookline", [CONVENTIONAL.destination]: destination };
  const sending: Attributes = { ...common, [operationName]: "send" };
  /** By consumer. */
  const processing = new Map<string, Attributes>();
  const withError = (attributes: Attributes, type: string | undefined): Attributes =>
    type === undefined ? attributes : { ...attributes, [errorType]: type };

  return {
    sent(duration, type) {
      const attributes = withError(sending, type);
      sent.add(1, attributes);
      operationDuration.record(duration, attributes);
    },
    consumed(jobs, call) {
      let own = processing.get(call.consumer);
      if (own === undefined)
        processing.set(call.consumer, (own = { ...common, [operationName]: "process", [consumer]: call.consumer }));
      const attributes = withError(own, call.errorType);
      consumed.add(jobs, attributes);
      processDuration.record(call.seconds, attributes);
    },
  };
}

/** Observes the numbers of `health()` until the returned function is called. */
export function observeInbox(
  meter: Meter,
  { receiver, internals }: { readonly receiver: Receiver; readonly internals: Internals },
): () => void {
  const gauge = (name: string, unit: string): ObservableGauge =>
    meter.createObservableGauge(`hookline.${name}`, { unit });
  const waiting = gauge("jobs.waiting", "{job}");
  const oldest = gauge("jobs.oldest_waiting", "s");
  const dead = gauge("jobs.dead", "{job}");
  const unhandled = gauge("jobs.unhandled", "{job}");
  const blocked = gauge("lanes.blocked", "{lane}");
  const gauges = [waiting, oldest, dead, unhandled, blocked];
  const attributes = { [CONVENTIONAL.destination]: internals.name };
  const observe: Parameters<Meter["addBatchObservableCallback"]>[0] = async (result) => {
    const counts = countsOfInbox(await receiver.health(), internals);
    if (counts === undefined) return;
    result.observe(waiting, counts.waiting, attributes);
    result.observe(oldest, counts.oldestWaitingMs / 1_000, attributes);
    result.observe(dead, counts.dead, attributes);
    result.observe(unhandled, counts.unhandled, attributes);
    result.observe(blocked, counts.blockedLanes, attributes);
  };
  meter.addBatchObservableCallback(observe, gauges);
  return () => meter.removeBatchObservableCallback(observe, gauges);
}
