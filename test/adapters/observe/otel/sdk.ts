import {
  context,
  trace,
  type Attributes,
  type Link,
  type SpanContext,
  type SpanKind,
  type SpanStatus,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";

/** A span that ended. */
export interface EndedSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly links: readonly Link[];
  readonly status: SpanStatus;
  readonly parentSpanContext?: SpanContext;
  spanContext(): SpanContext;
}

/** What was measured under one name. */
interface Measured {
  readonly name: string;
  readonly unit: string;
  readonly points: readonly { readonly attributes: Attributes; readonly value: unknown }[];
}

/** One version of the SDK, with exporters in memory. */
export interface Sdk {
  /** @param ratio of traces that are sampled @default all */
  tracing(ratio?: number): { readonly provider: object; spans(): readonly EndedSpan[] };
  metering(): { readonly provider: object; collect(): Promise<readonly Measured[]> };
}

interface TraceModule {
  readonly InMemorySpanExporter: new () => { getFinishedSpans(): readonly unknown[] };
  readonly TraceIdRatioBasedSampler: new (ratio: number) => object;
  readonly ParentBasedSampler: new (options: { root: object }) => object;
}
interface MetricsModule {
  readonly MeterProvider: new (options: { readers: never[] }) => object;
  readonly MetricReader: unknown;
  readonly PeriodicExportingMetricReader: new (options: { exporter: never; exportIntervalMillis: number }) => {
    collect(): Promise<{
      readonly resourceMetrics: { readonly scopeMetrics: readonly { readonly metrics: readonly MetricData[] }[] };
    }>;
    shutdown(): Promise<void>;
  };
  readonly InMemoryMetricExporter: new (temporality: number) => object;
}
interface MetricData {
  readonly descriptor: { readonly name: string; readonly unit: string };
  readonly dataPoints: readonly { readonly attributes: Attributes; readonly value: unknown }[];
}

/** @param makeProvider they differ in how a provider is made */
export function toSdk(
  traces: TraceModule,
  metrics: MetricsModule,
  makeProvider: (exporter: object, sampler: object) => object,
): Sdk {
  return {
    tracing(ratio = 1) {
      const exporter = new traces.InMemorySpanExporter();
      const root = new traces.TraceIdRatioBasedSampler(ratio);
      const provider = makeProvider(exporter, new traces.ParentBasedSampler({ root }));
      return { provider, spans: () => exporter.getFinishedSpans() as readonly EndedSpan[] };
    },
    metering() {
      const exporter = new metrics.InMemoryMetricExporter(1);
      const reader = new metrics.PeriodicExportingMetricReader({
        exporter: exporter as never,
        exportIntervalMillis: 2 ** 30,
      });
      return {
        provider: new metrics.MeterProvider({ readers: [reader as never] }),
        async collect() {
          const { resourceMetrics } = await reader.collect();
          await reader.shutdown();
          return resourceMetrics.scopeMetrics.flatMap((scope) =>
            scope.metrics.map(({ descriptor, dataPoints }) => ({ ...descriptor, points: dataPoints })),
          );
        },
      };
    },
  };
}

/** Spans are active across `await` from here on. */
export function enableContext(): () => void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  return () => {
    context.disable();
    trace.disable();
  };
}
