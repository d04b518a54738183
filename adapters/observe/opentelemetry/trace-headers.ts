import { createTraceState, isSpanContextValid, TraceFlags, type SpanContext } from "@opentelemetry/api";

// The context of a request travels with its stored delivery, as headers of https://www.w3.org/TR/trace-context/. They are not signed:
// who can write into a queue can write them.

const LONGEST_STATE = 512;
const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
/** Printable ASCII. */
const STATE = /^[ -~]+$/;

/** To store with the delivery; undefined where the span is not sampled. */
export function toHeaders(of: SpanContext): Readonly<Record<string, string>> | undefined {
  const { traceId, spanId, traceFlags, traceState } = of;
  if ((traceFlags & TraceFlags.SAMPLED) === 0) return undefined;
  const tracestate = traceState?.serialize();
  const traceparent = `00-${traceId}-${spanId}-01`;
  return isState(tracestate) ? { traceparent, tracestate } : { traceparent };
}

/** Of a stored delivery; undefined where there is none, or it is malformed. */
export function fromHeaders({ traceparent, tracestate }: Readonly<Record<string, string>>): SpanContext | undefined {
  if (typeof traceparent !== "string" || !TRACEPARENT.test(traceparent)) return undefined;
  const traceFlags = Number.parseInt(traceparent.slice(53), 16) & TraceFlags.SAMPLED;
  const [traceId, spanId] = [traceparent.slice(3, 35), traceparent.slice(36, 52)];
  const found: SpanContext = { traceId, spanId, traceFlags, isRemote: true };
  if (!isSpanContextValid(found)) return undefined;
  return isState(tracestate) ? { ...found, traceState: createTraceState(tracestate) } : found;
}

function isState(text: unknown): text is string {
  return typeof text === "string" && text.length <= LONGEST_STATE && STATE.test(text);
}
