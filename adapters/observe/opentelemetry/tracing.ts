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
  type SpanOptions,
  type Tracer as ApiTracer,
} from "@opentelemetry/api";
import { isHooklineError } from "../../../src/index.ts";
import type { RequestCarrier, Tracer } from "../../../src/observe/instruments.ts";
import type { Measures } from "./measures.ts";
import { attributesOf, CONVENTIONAL, OWN, type Operation } from "./names.ts";
import { fromHeaders, toHeaders } from "./trace-headers.ts";

interface TracingOptions {
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

/** A span with an id: there is an SDK. */
interface Started {
  readonly span: Span;
  /** Where it is the active one: what it calls is sampled as it is, also where it is not. */
  readonly within: Context;
  readonly isRecording: boolean;
}

export function createTracing({ name, isContinued, accountIds, tracer, measures, safely }: TracingOptions): Tracer {
  const optionsOf = (operation: Operation, kind: SpanKind, consumer?: string): SpanOptions => ({
    kind,
    attributes: { ...attributesOf(operation, name, consumer), [CONVENTIONAL.operationType]: operation },
  });
  const sending = optionsOf("send", SpanKind.PRODUCER);
  /** By consumer. */
  const processing = new Map<string, SpanOptions>();

  function start(operation: Operation, options: SpanOptions, within: Context): Started | undefined {
    const span = tracer?.startSpan(`${operation} ${name}`, options, within);
    if (span === undefined || !isSpanContextValid(span.spanContext())) return undefined;
    return { span, within: trace.setSpan(within, span), isRecording: span.isRecording() };
  }

  /** Runs `work` once, whatever the context manager does. */
  function run<T>(started: Started | undefined, work: () => T): T {
    if (started === undefined) return work();
    let outcome: (() => T) | undefined;
    safely(() =>
      context.with(started.within, () => {
        try {
          const value = work();
          outcome = () => value;
        } catch (error) {
          outcome = () => {
            throw error;
          };
        }
      }),
    );
    return (outcome ?? work)();
  }

  function end(started: Started | undefined, errorType: string | undefined, attributes: Attributes): void {
    if (started?.isRecording !== true) return;
    safely(() => {
      const { span } = started;
      span.setAttributes(attributes);
      if (errorType !== undefined)
        span.setAttribute(CONVENTIONAL.errorType, errorType).setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    });
  }

  async function watch<T extends { readonly code?: string }>(
    started: Started | undefined,
    work: (carrier: RequestCarrier) => Promise<T>,
  ): Promise<T> {
    const startedAt = performance.now();
    const carrier: RequestCarrier = { headers: started && safely(() => toHeaders(started.span.spanContext())) };
    let errorType: string | undefined = "internal";
    try {
      const result = await run(started, () => work(carrier));
      errorType = result.code;
      return result;
    } finally {
      const { deliveryId } = carrier;
      end(started, errorType, deliveryId === undefined ? {} : { [CONVENTIONAL.messageId]: deliveryId });
      safely(() => measures?.send({ count: 1, startedAt, errorType }));
    }
  }

  return {
    request(work) {
      const started = safely(() => start("send", sending, context.active()));
      if (started?.isRecording === true || measures !== undefined) return watch(started, work);
      return run(started, () => work({ headers: undefined }));
    },
    call({ event, consumer, attempt, jobId, deliveryId }, jobs, isDirect = false) {
      const startedAt = performance.now();
      const started = safely(() => {
        const links = linksOf(jobs);
        // A call of the inbox begins in whatever ran before it, such as another request: that is no cause of it.
        const ambient = isDirect ? context.active() : ROOT_CONTEXT;
        const [only] = links;
        const goesOn = isContinued && jobs.length === 1 && only !== undefined && trace.getSpan(ambient) === undefined;
        let options = processing.get(consumer);
        if (options === undefined)
          processing.set(consumer, (options = optionsOf("process", SpanKind.CONSUMER, consumer)));
        return start(
          "process",
          links.length === 0 ? options : { ...options, links },
          goesOn ? trace.setSpanContext(ambient, only.context) : ambient,
        );
      });
      if (started === undefined && measures === undefined) return undefined;
      const of = started && safely(() => started.span.spanContext());
      return {
        logged: of && { trace_id: of.traceId, span_id: of.spanId },
        run: (work) => run(started, work),
        end(outcome, result) {
          if (measures === undefined && started?.isRecording !== true) return;
          const errorType = result.ok ? undefined : errorTypeOf(result.error);
          const attributes: Attributes = {
            [OWN.eventType]: event.type,
            [OWN.attempt]: attempt,
            [OWN.outcome]: outcome,
            [OWN.jobId]: jobId,
            [CONVENTIONAL.messageId]: deliveryId,
          };
          if (jobs.length > 1) attributes[CONVENTIONAL.batchCount] = jobs.length;
          if (accountIds && typeof event.accountId === "number") attributes[OWN.accountId] = event.accountId;
          end(started, errorType, attributes);
          safely(() => measures?.process({ count: jobs.length, startedAt, errorType, consumer }));
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

/** A code or the name of a class: never a message, which may hold content. Whoever asks for time has not failed. */
function errorTypeOf(error: unknown): string | undefined {
  try {
    if (isHooklineError(error)) return error.code === "retry-later" ? undefined : error.code;
    return error instanceof Error ? error.name : "_OTHER";
  } catch {
    return "_OTHER";
  }
}
