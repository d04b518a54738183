import { createNoopMeter, metrics, trace, type MeterProvider, type TracerProvider } from "@opentelemetry/api";
import { assertOptions, kindOf } from "../../src/adapter.ts";
import { assertBoolean } from "../../src/assert.ts";
import { UsageError, type Receiver } from "../../src/index.ts";
import { internalsOf } from "../../src/receiver/internals.ts";
import { createMeasures, observeInbox } from "./opentelemetry/measures.ts";
import { createTracing } from "./opentelemetry/tracing.ts";

/** Options of {@link openTelemetry}. */
export interface OpenTelemetryOptions {
  /**
   * "linked": each attempt is a trace of its own, with a link to the request. "continued": it goes on in the request's trace; a merged
   * call is linked all the same. @default "linked"
   */
  trace?: "linked" | "continued" | undefined;
  /** Counters, durations and the numbers of the inbox. @default true */
  metrics?: boolean | undefined;
  /** `hookline.account_id` on spans; never on metrics. @default true */
  accountIds?: boolean | undefined;
  /** A `TracerProvider` of `@opentelemetry/api`. @default the global one */
  tracerProvider?: object | undefined;
  /** A `MeterProvider` of `@opentelemetry/api`. @default the global one */
  meterProvider?: object | undefined;
}

/**
 * Spans and metrics of a receiver, through `@opentelemetry/api`. Registers nothing: without an SDK they go nowhere.
 *
 * @returns ends it
 * @throws UsageError `telemetry-after-start`, `telemetry-doubled`, `option-invalid`, `receiver-invalid`
 * @example
 * openTelemetry(receiver); // before start()
 * await receiver.start();
 */
export function openTelemetry(receiver: Receiver, options: OpenTelemetryOptions = {}): () => void {
  const resolved = resolve(options);
  const internals = internalsOf(receiver);
  const { instruments, name, log } = internals;
  if (internals.handlers.sealed)
    throw new UsageError("telemetry-after-start", "openTelemetry() came after the start.", {
      fix: "Call it before `receiver.start()` or the first `receiver.handle()`.",
    });
  if (instruments.tracer !== undefined)
    throw new UsageError("telemetry-doubled", "openTelemetry() was called twice for one receiver.", {
      fix: "Call it once; what it returns ends it.",
    });

  let isLogged = false;
  /** A provider that throws reaches no request and no job. */
  function safely<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (err) {
      if (!isLogged)
        log.warn({ code: "observer-failed", err, observer: "openTelemetry" }, "a provider of telemetry threw");
      isLogged = true;
      return undefined;
    }
  }

  const { tracerProvider, meterProvider } = resolved;
  const tracer = safely(() => (tracerProvider ?? trace.getTracerProvider()).getTracer(SCOPE));
  const meter = resolved.metrics
    ? safely(() => (meterProvider ?? metrics.getMeterProvider()).getMeter(SCOPE))
    : undefined;
  // Nobody hears what is measured without an SDK.
  const isHeard = meter !== undefined && meter !== createNoopMeter();
  const measures = isHeard ? safely(() => createMeasures(meter, name)) : undefined;
  const stopObserving = isHeard ? safely(() => observeInbox(meter, { receiver, internals })) : undefined;
  const tracing = createTracing({ ...resolved, name, tracer, measures, safely });
  instruments.tracer = tracing;
  return () => {
    if (stopObserving !== undefined) safely(stopObserving);
    if (instruments.tracer === tracing) instruments.tracer = undefined;
  };
}

const SCOPE = "hookline";

function resolve(options: OpenTelemetryOptions) {
  assertOptions("openTelemetry", options, {
    trace: true,
    metrics: true,
    accountIds: true,
    tracerProvider: true,
    meterProvider: true,
  });
  const { trace: how = "linked", metrics: measures = true, accountIds = true } = options;
  if (how !== "linked" && how !== "continued")
    throw new UsageError("option-invalid", `openTelemetry's \`trace\` is "linked" or "continued", got ${kindOf(how)}.`);
  assertBoolean("openTelemetry's `metrics`", measures);
  assertBoolean("openTelemetry's `accountIds`", accountIds);
  return {
    isContinued: how === "continued",
    metrics: measures,
    accountIds,
    tracerProvider: assertProvider(options.tracerProvider, "tracerProvider", "getTracer") as TracerProvider | undefined,
    meterProvider: assertProvider(options.meterProvider, "meterProvider", "getMeter") as MeterProvider | undefined,
  };
}

function assertProvider(given: object | undefined, option: string, method: string): object | undefined {
  if (given === undefined || typeof (given as Record<string, unknown> | null)?.[method] === "function") return given;
  throw new UsageError(
    "option-invalid",
    `openTelemetry's \`${option}\` is an object with ${method}(), got ${kindOf(given)}.`,
  );
}
