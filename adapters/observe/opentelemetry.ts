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
  const { isContinued, accountIds, ...given } = resolve(options);
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

  const tracer = safely(() => (given.tracerProvider ?? trace.getTracerProvider()).getTracer(SCOPE));
  const meter = given.metrics && safely(() => (given.meterProvider ?? metrics.getMeterProvider()).getMeter(SCOPE));
  // Nobody hears what is measured without an SDK.
  const heard = meter && meter !== createNoopMeter() ? meter : undefined;
  const measures = heard && safely(() => createMeasures(heard, name));
  const stopObserving = heard && safely(() => observeInbox(heard, receiver, internals));
  const tracing = createTracing({ name, isContinued, accountIds, tracer, measures, safely });
  instruments.tracer = tracing;
  return () => {
    safely(() => stopObserving?.());
    if (instruments.tracer === tracing) instruments.tracer = undefined;
  };
}

const SCOPE = "hookline";

function resolve(options: OpenTelemetryOptions) {
  const known = { trace: true, metrics: true, accountIds: true, tracerProvider: true, meterProvider: true } as const;
  assertOptions("openTelemetry", options, known);
  const { trace: how = "linked", metrics: measures = true, accountIds = true, tracerProvider, meterProvider } = options;
  if (how !== "linked" && how !== "continued") throw refused("trace", '"linked" or "continued"', how);
  assertBoolean("openTelemetry's `metrics`", measures);
  assertBoolean("openTelemetry's `accountIds`", accountIds);
  return {
    isContinued: how === "continued",
    metrics: measures,
    accountIds,
    tracerProvider: providerOf<TracerProvider>("tracerProvider", tracerProvider, "getTracer"),
    meterProvider: providerOf<MeterProvider>("meterProvider", meterProvider, "getMeter"),
  };
}

function providerOf<T>(option: string, given: object | undefined, method: string & keyof T): T | undefined {
  if (given === undefined || typeof (given as T | null)?.[method] === "function") return given as T | undefined;
  throw refused(option, `an object with ${method}()`, given);
}

function refused(option: string, expected: string, got: unknown): UsageError {
  return new UsageError("option-invalid", `openTelemetry's \`${option}\` is ${expected}, got ${kindOf(got)}.`);
}
