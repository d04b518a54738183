import { assertOptions } from "../../src/adapter.ts";
import { UsageError, type Receiver } from "../../src/index.ts";
import { internalsOf } from "../../src/receiver/internals.ts";
import { createCounting } from "./prometheus/counting.ts";
import { familiesOf } from "./prometheus/families.ts";
import { assertLabels, assertPrefix, toText } from "./prometheus/text-format.ts";

/** Options of {@link prometheusMetrics}. */
export interface PrometheusOptions {
  /** The beginning of each metric's name. @default "hookline_" */
  prefix?: string | undefined;
  /** Added to each line. @default none */
  labels?: Readonly<Record<string, string>> | undefined;
}

/** The metrics of one receiver in this process. */
export interface Metrics {
  /** Of the answer to a scrape. */
  readonly contentType: "text/plain; version=0.0.4; charset=utf-8";
  /** All series, in the text format of Prometheus. Reads no storage, and never rejects. Opens the inbox, as `health()` does. */
  text(): Promise<string>;
  /** Ends the counting. */
  close(): void;
}

/**
 * Metrics of a receiver for Prometheus. Counts from now on: call it before `start()`.
 *
 * @throws UsageError `metrics-prefix`, `metrics-label`, `metrics-doubled`, `option-invalid`, `receiver-invalid`
 * @example
 * const metrics = prometheusMetrics(receiver);
 * app.get("/metrics", async (req, res) => res.type(metrics.contentType).send(await metrics.text()));
 */
export function prometheusMetrics(receiver: Receiver, options: PrometheusOptions = {}): Metrics {
  assertOptions("prometheusMetrics", options, { prefix: true, labels: true });
  const { prefix = "hookline_", labels = {} } = options;
  assertPrefix(prefix);
  assertLabels(labels);
  const internals = internalsOf(receiver);
  const { instruments } = internals;
  if (instruments.meter !== undefined)
    throw new UsageError("metrics-doubled", "prometheusMetrics() was called twice for one receiver.", {
      fix: "Call it once, and use what it returns wherever metrics are asked for; `close()` ends it.",
    });
  const counting = createCounting();
  instruments.meter = counting.meter;
  const stopObserving = receiver.observe(counting.observer);

  return {
    contentType: "text/plain; version=0.0.4; charset=utf-8",
    text: async () => toText(await familiesOf(receiver, internals, counting), prefix, labels),
    close() {
      stopObserving();
      if (instruments.meter === counting.meter) instruments.meter = undefined;
    },
  };
}
