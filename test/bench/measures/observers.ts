import { context, ROOT_CONTEXT, SpanKind, trace as spans, type Attributes } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { openTelemetry } from "../../../adapters/observe/opentelemetry.ts";
import { prometheusMetrics } from "../../../adapters/observe/prometheus.ts";
import type { Receiver } from "../../../src/index.ts";
import { readSizes, sendResult, watchCpu, type MeasureResult } from "./send-result.ts";
import { bodyOf, deliver, openBench } from "./stored.ts";

/** Requests under way at once. */
const AT_ONCE = 64;
/** Records, used round-robin. */
const LANES = 5_000;

/** Delivers one body. */
type Deliver = typeof deliver;

/** In the order of the measures' second size. */
const OBSERVERS: readonly ((receiver: Receiver) => Deliver | void)[] = [
  () => {},
  (receiver) => void prometheusMetrics(receiver),
  (receiver) => void openTelemetry(receiver),
  (receiver) => void openTelemetry(receiver, { tracerProvider: createProvider(0.01) }),
  (receiver) => void openTelemetry(receiver, { tracerProvider: createProvider(1) }),
  () => withSpans(0.01),
  () => withSpans(1),
];

/** An SDK as most programs have it, with an exporter that costs nothing. */
function createProvider(ratio: number): TracerProvider {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const exporter = {
    export: (_spans: unknown, done: (result: { code: number }) => void) => done({ code: 0 }),
    shutdown: async () => {},
  };
  return new TracerProvider({
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    // Room for all: what is dropped would cost too little.
    spanProcessors: [new BatchSpanProcessor({ exporter, maxQueueSize: 1_000_000, maxExportBatchSize: 10_000 })],
  });
}

/** The SDK alone: as many spans with as many attributes, by hand, around nothing but the delivery. */
function withSpans(ratio: number): Deliver {
  const tracer = createProvider(ratio).getTracer("bench");
  const attributes = { a: "hookline", b: "send", c: "send", d: "receiver" };
  async function within(name: string, work: () => Promise<void>, more: Attributes): Promise<void> {
    const span = tracer.startSpan(name, { kind: SpanKind.PRODUCER, attributes }, ROOT_CONTEXT);
    await context.with(spans.setSpan(ROOT_CONTEXT, span), work);
    if (span.isRecording()) span.setAttributes(more);
    span.end();
  }
  return async (receiver, body) => {
    await within("send receiver", () => deliver(receiver, body), { e: "1" });
    await within("process receiver", async () => {}, { e: "1", f: "email.updated", g: 1, h: "1", i: 2002, j: "done" });
  };
}

// A delivery of one entry from its request to the end of its handler, through a file and without a socket.
async function measure(deliveries: number, observe: number): Promise<MeasureResult> {
  const { receiver } = openBench();
  const send = OBSERVERS[observe]?.(receiver) ?? deliver;
  receiver.on("email", async () => {}, { merge: false });
  await receiver.start();
  let left = deliveries;
  async function sendAll(): Promise<void> {
    while (left > 0) {
      left -= 1;
      await send(receiver, bodyOf([left % LANES]));
    }
  }
  const cpuUs = await watchCpu();
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, sendAll));
  await receiver.idle();
  const ms = performance.now() - startedAt;
  const spentUs = cpuUs();
  const { succeeded } = receiver.stats();
  await receiver.close();
  if (succeeded !== deliveries) throw new Error(`${succeeded} jobs were done, expected ${deliveries}.`);
  return { jobs: deliveries, ms, perSecond: (deliveries * 1_000) / ms, cpuUs: spentUs / deliveries };
}

const [deliveries = 0, observe = 0] = readSizes();
sendResult(await measure(deliveries, observe));
process.exit(0); // a batch of spans may wait
