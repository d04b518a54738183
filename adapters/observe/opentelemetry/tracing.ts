import {
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Link,
  type Span,
  type SpanContext,
  type SpanOptions,
  type Tracer as ApiTracer,
} from "@opentelemetry/api";
import { isHooklineError } from "../../../src/index.ts";
import type { CallSpan, RequestCarrier, RequestEnd, Tracer } from "../../../src/observe/instruments.ts";
import type { Measures } from "./measures.ts";
import { CONVENTIONAL, OWN } from "./names.ts";
import { fromHeaders, toHeaders } from "./trace-headers.ts";

export interface TracingOptions {
  /** Of the receiver: the destination. */
  readonly name: string;
  readonly isContinued: boolean;
  readonly accountIds: boolean;
  readonly tracer: ApiTracer | undefined;
  readonly measures: Measures | undefined;
  /** Undefined where `work` threw. */
  readonly safely: <T>(work: () => T) => T | undefined;
}

/** An SDK's default for a span. The newest deliveries are linked. */
const MOST_LINKS = 128;
const LOOK_AGAIN_MS = 1_000;

/** A span with an id: there is an SDK. */
interface Started {
  readonly span: Span;
  readonly of: SpanContext;
  /** Where it is the active one. */
  readonly within: Context;
  /** Whether it is sampled. */
  readonly isRecording: boolean;
}

type Work<T> = (carrier: RequestCarrier) => Promise<T>;

export function createTracing({ name, isContinued, accountIds, tracer, measures, safely }: TracingOptions): Tracer {
  const attributesOf = (operation: string): Attributes => ({
    [CONVENTIONAL.system]: "hookline",
    [CONVENTIONAL.operationName]: operation,
    [CONVENTIONAL.operationType]: operation,
    [CONVENTIONAL.destination]: name,
  });
  const sending = { kind: SpanKind.PRODUCER, attributes: attributesOf("send") };
  /** By consumer. */
  const processing = new Map<string, Attributes>();
  const [sendName, processName] = [`send ${name}`, `process ${name}`];
  let dormantUntil = 0;

  /** Without an SDK a look a second is enough: one may be registered later. */
  function isDormant(now: number): boolean {
    return measures === undefined && now < dormantUntil;
  }

  function start(spanName: string, options: SpanOptions, within: Context): Started | undefined {
    const span = tracer?.startSpan(spanName, options, within);
    if (span === undefined) return undefined;
    const of = span.spanContext();
    if (!isSpanContextValid(of)) {
      dormantUntil = performance.now() + LOOK_AGAIN_MS;
      return undefined;
    }
    return { span, of, within: trace.setSpan(within, span), isRecording: span.isRecording() };
  }

  /** Runs `work` once, whatever the context manager does. */
  function run<T>(within: Context | undefined, work: () => T): T {
    if (within === undefined) return work();
    let hasBegun = false;
    let hasThrown = false;
    let value: T | undefined;
    let thrown: unknown;
    safely(() =>
      context.with(within, () => {
        hasBegun = true;
        try {
          value = work();
        } catch (error) {
          hasThrown = true;
          thrown = error;
        }
      }),
    );
    if (!hasBegun) return work();
    if (hasThrown) throw thrown;
    return value as T;
  }

  function end(started: Started | undefined, errorType: string | undefined, attributes: Attributes): void {
    if (started?.isRecording !== true) return;
    safely(() => {
      const { span } = started;
      span.setAttributes(errorType === undefined ? attributes : { ...attributes, [CONVENTIONAL.errorType]: errorType });
      if (errorType !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    });
  }

  async function request<T extends RequestEnd>(
    started: Started | undefined,
    startedAt: number,
    work: Work<T>,
  ): Promise<T> {
    const carrier: RequestCarrier = { headers: started && safely(() => toHeaders(started.of)) };
    let errorType: string | undefined = "internal";
    try {
      const result = await run(started?.within, () => work(carrier));
      errorType = result.code;
      return result;
    } finally {
      const { deliveryId } = carrier;
      end(started, errorType, deliveryId === undefined ? {} : { [CONVENTIONAL.messageId]: deliveryId });
      if (measures !== undefined) safely(() => measures.sent((performance.now() - startedAt) / 1_000, errorType));
    }
  }

  function processOptions(consumer: string, links: Link[]): SpanOptions {
    let attributes = processing.get(consumer);
    if (attributes === undefined)
      processing.set(consumer, (attributes = { ...attributesOf("process"), [CONVENTIONAL.consumer]: consumer }));
    return { kind: SpanKind.CONSUMER, attributes, links };
  }

  return {
    request(work) {
      const now = performance.now();
      if (isDormant(now)) return work({ headers: undefined });
      const started = safely(() => start(sendName, sending, context.active()));
      // Nobody looks at it; but what it calls is to be sampled as it is.
      return measures === undefined && started?.isRecording !== true
        ? run(started?.within, () => work({ headers: undefined }))
        : request(started, now, work);
    },
    call({ event, consumer, attempt, jobId, deliveryId }, jobs, isDirect = false): CallSpan | undefined {
      const startedAt = performance.now();
      if (isDormant(startedAt)) return undefined;
      const started = safely(() => {
        const links = linksOf(jobs);
        // A call of the inbox begins in whatever ran before it, such as another request: that is no cause of it.
        const ambient = isDirect ? context.active() : ROOT_CONTEXT;
        const [only] = links;
        const goesOn = isContinued && jobs.length === 1 && only !== undefined && trace.getSpan(ambient) === undefined;
        const within = goesOn ? trace.setSpanContext(ambient, only.context) : ambient;
        return start(processName, processOptions(consumer, links), within);
      });
      if (started?.isRecording === true)
        safely(() =>
          started.span.setAttributes({
            [OWN.eventType]: event.type,
            [OWN.attempt]: attempt,
            [OWN.jobId]: jobId,
            [CONVENTIONAL.messageId]: deliveryId,
            ...(jobs.length > 1 && { [CONVENTIONAL.batchCount]: jobs.length }),
            ...(accountIds && typeof event.accountId === "number" && { [OWN.accountId]: event.accountId }),
          }),
        );
      return {
        logged: started && { trace_id: started.of.traceId, span_id: started.of.spanId },
        run: (work) => run(started?.within, work),
        end(outcome, error) {
          if (measures === undefined && started?.isRecording !== true) return;
          const errorType =
            error === undefined || isHooklineError(error, "retry-later") ? undefined : errorTypeOf(error);
          end(started, errorType, { [OWN.outcome]: outcome });
          const seconds = (performance.now() - startedAt) / 1_000;
          if (measures !== undefined) safely(() => measures.consumed(jobs.length, { seconds, consumer, errorType }));
        },
      };
    },
  };
}

function linksOf(jobs: Parameters<Tracer["call"]>[1]): Link[] {
  const links: Link[] = [];
  for (const { id, delivery } of jobs.length > MOST_LINKS ? jobs.slice(-MOST_LINKS) : jobs) {
    const of = fromHeaders(delivery.headers);
    if (of !== undefined) links.push({ context: of, attributes: { [OWN.jobId]: id } });
  }
  return links;
}

/** A code or the name of a class: never a message, which may hold content. */
function errorTypeOf(error: unknown): string {
  try {
    if (isHooklineError(error)) return error.code;
    return error instanceof Error ? error.name : "_OTHER";
  } catch {
    return "_OTHER";
  }
}
