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
  type Tracer as ApiTracer,
} from "@opentelemetry/api";
import { isHooklineError } from "../../../src/index.ts";
import type { CallSpan, Tracer } from "../../../src/instruments.ts";
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

export function createTracing({ name, isContinued, accountIds, tracer, measures, safely }: TracingOptions): Tracer {
  const attributesOf = (operationName: string, operationType: string): Attributes => ({
    [CONVENTIONAL.system]: "hookline",
    [CONVENTIONAL.operationName]: operationName,
    [CONVENTIONAL.operationType]: operationType,
    [CONVENTIONAL.destination]: name,
  });
  const sending = { kind: SpanKind.PRODUCER, attributes: attributesOf("send", "send") };
  const processing = attributesOf("process", "process");

  function start(name_: string, options: Parameters<ApiTracer["startSpan"]>[1], parent: () => Context) {
    return safely(() => {
      const within = parent();
      const span = tracer?.startSpan(name_, options, within);
      return span && { span, within: trace.setSpan(within, span) };
    });
  }

  /** Runs `work` once, whatever the context manager does. */
  function run<T>(within: Context | undefined, work: () => T): T {
    let ended: (() => T) | undefined;
    const once = (): (() => T) => {
      try {
        const value = work();
        return () => value;
      } catch (error) {
        return () => {
          throw error;
        };
      }
    };
    if (within !== undefined) safely(() => context.with(within, () => void (ended = once())));
    return (ended ?? once())();
  }

  function end(
    span: Span | undefined,
    { errorType, attributes }: { errorType?: string | undefined; attributes: Attributes },
  ) {
    safely(() => {
      if (span === undefined) return;
      if (span.isRecording()) {
        span.setAttributes(
          errorType === undefined ? attributes : { ...attributes, [CONVENTIONAL.errorType]: errorType },
        );
        if (errorType !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    });
  }

  return {
    async request(work) {
      const startedAt = performance.now();
      const started = start(`send ${name}`, sending, () => context.active());
      const span = started?.span;
      const carrier: Parameters<typeof work>[0] = { headers: safely(() => span && toHeaders(span.spanContext())) };
      let errorType: string | undefined = "internal";
      try {
        const result = await run(started?.within, () => work(carrier));
        errorType = result.code;
        return result;
      } finally {
        const { deliveryId } = carrier;
        end(span, { errorType, attributes: deliveryId === undefined ? {} : { [CONVENTIONAL.messageId]: deliveryId } });
        safely(() => measures?.sent((performance.now() - startedAt) / 1_000, errorType));
      }
    },
    call({ event, consumer, attempt, jobId, deliveryId }, jobs, isDirect = false): CallSpan {
      const startedAt = performance.now();
      const links = jobs.slice(-MOST_LINKS).flatMap(({ id, delivery }): readonly Link[] => {
        const of = fromHeaders(delivery.headers);
        return of === undefined ? [] : [{ context: of, attributes: { [OWN.jobId]: id } }];
      });
      const parent = (): Context => {
        // A call of the inbox begins in whatever ran before it, such as another request: that is no cause of it.
        const ambient = isDirect ? context.active() : ROOT_CONTEXT;
        const [only] = links;
        const goesOn = isContinued && jobs.length === 1 && only !== undefined && trace.getSpan(ambient) === undefined;
        return goesOn ? trace.setSpanContext(ambient, only.context) : ambient;
      };
      const started = start(
        `process ${name}`,
        { kind: SpanKind.CONSUMER, attributes: { ...processing, [CONVENTIONAL.consumer]: consumer }, links },
        parent,
      );
      const span = started?.span;
      safely(() => {
        if (span?.isRecording() !== true) return;
        span.setAttributes({
          [OWN.eventType]: event.type,
          [OWN.attempt]: attempt,
          [OWN.jobId]: jobId,
          [CONVENTIONAL.messageId]: deliveryId,
          ...(jobs.length > 1 && { [CONVENTIONAL.batchCount]: jobs.length }),
          ...(accountIds && typeof event.accountId === "number" && { [OWN.accountId]: event.accountId }),
        });
      });
      return {
        logged: safely(() => {
          const of = span?.spanContext();
          return of && isSpanContextValid(of) ? { trace_id: of.traceId, span_id: of.spanId } : undefined;
        }),
        run: (work) => run(started?.within, work),
        end(outcome, error) {
          const errorType =
            error === undefined || isHooklineError(error, "retry-later") ? undefined : errorTypeOf(error);
          end(span, { errorType, attributes: { [OWN.outcome]: outcome } });
          const seconds = (performance.now() - startedAt) / 1_000;
          safely(() => measures?.consumed(jobs.length, { seconds, consumer, errorType }));
        },
      };
    },
  };
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
