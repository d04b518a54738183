import { createReceiver, memoryInbox, type Inbox, type Logger, type Receiver, type ReceiverOptions } from "hookline";
import { openTelemetry, type OpenTelemetryOptions } from "hookline/opentelemetry";
import { bodyOf, change, signedRequest } from "../../../support/make-delivery.ts";
import type { EndedSpan, Sdk } from "./sdk.ts";

const SECRET = "s";

/** A receiver with telemetry. */
export interface World extends AsyncDisposable {
  readonly receiver: Receiver;
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  send(body?: string, headers?: Record<string, string>): Promise<number>;
  /** Of requests, and of calls. */
  sends(): readonly EndedSpan[];
  processes(): readonly EndedSpan[];
}

interface WorldOptions {
  readonly inbox?: Inbox;
  readonly telemetry?: OpenTelemetryOptions;
  readonly options?: Partial<ReceiverOptions>;
  readonly ratio?: number;
}

export function createWorld(
  sdk: Sdk,
  { inbox = memoryInbox(), telemetry = {}, options = {}, ratio = 1 }: WorldOptions = {},
): World {
  const lines: Record<string, unknown>[] = [];
  const write = (facts: object): void => void lines.push({ ...facts });
  const log: Logger = { debug: write, info: write, warn: write, error: write };
  const receiver = createReceiver({ secret: SECRET, name: "mail", inbox, log, ...options });
  const tracing = sdk.tracing(ratio);
  openTelemetry(receiver, { tracerProvider: tracing.provider, meterProvider: sdk.metering().provider, ...telemetry });
  const named = (name: string) => tracing.spans().filter((span) => span.name === name);
  return {
    receiver,
    lines,
    async send(body = bodyOf(), headers = {}) {
      const request = signedRequest(body, { secret: SECRET, at: new Date() });
      return (await receiver.receive({ ...request, headers: { ...request.headers, ...headers } })).status;
    },
    sends: () => named("send mail"),
    processes: () => named("process mail"),
    [Symbol.asyncDispose]: () => receiver.close({ drainMs: 0 }).then(() => {}),
  };
}

/** A delivery of changes of these records. */
export function mails(...ids: readonly string[]): string {
  return bodyOf({ payloads: ids.map((id) => change(id)) });
}

/** Fails the first calls. */
export function failing(times: number, error: unknown = new TypeError("no")) {
  let left = times;
  return () => {
    if (left-- > 0) throw error;
  };
}
