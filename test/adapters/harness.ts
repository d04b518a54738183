import {
  createReceiver,
  forwardInbox,
  type RawRequest,
  type Receiver,
  type ReceiverOptions,
  type Reply,
  type StoredDelivery,
} from "hookline";
import { send, type Answered, type Sent } from "../support/http.ts";
import { logRecorder, type LogRecorder } from "../support/log-recorder.ts";
import { signedHeaders } from "../support/sign.ts";

export const SECRET = "test-signing-secret";

export const DELIVERY = JSON.stringify({
  subscription: 1001,
  accountId: 2002,
  resource: "/email/messages",
  payloads: [{ id: "m-1", changeType: "created" }],
});

/** The answer to a delivery that was stored, and nothing more. */
export const ACKNOWLEDGED = { status: 200, body: "", headers: { "content-length": "0" } };

export interface Receiving {
  readonly receiver: Receiver<"network">;
  readonly stored: readonly StoredDelivery[];
  /** The bodies of what was stored. */
  bodies(): readonly string[];
  readonly log: LogRecorder;
}

/** A receiver whose queue is an array. */
export function receiving(options: Partial<Omit<ReceiverOptions, "inbox">> = {}): Receiving {
  const stored: StoredDelivery[] = [];
  const log = logRecorder();
  const inbox = forwardInbox(async (deliveries) => void stored.push(...deliveries));
  const receiver = createReceiver({ secret: SECRET, inbox, log: log.logger, ...options });
  return {
    receiver,
    stored,
    log,
    bodies: () => stored.map(({ bodyBase64 }) => Buffer.from(bodyBase64, "base64").toString()),
  };
}

/** A receiver that decides what the test says, and has seen what the mount gave it. */
export function deciding(
  decide: (request: RawRequest) => Promise<Reply>,
): Receiver<"network"> & { readonly seen: readonly RawRequest[] } {
  const seen: RawRequest[] = [];
  const own = {
    seen,
    receive(request: RawRequest) {
      seen.push(request);
      return decide(request);
    },
  };
  return own as unknown as Receiver<"network"> & { readonly seen: readonly RawRequest[] };
}

export function reply(status: Reply["status"], body = "", headers: Reply["headers"] = {}): Reply {
  return { status, headers, body };
}

/** Reads the body without limits, as a receiver does that found nothing wrong. */
export async function bytesOf({ body }: RawRequest): Promise<Uint8Array> {
  if (body instanceof Uint8Array) return body;
  if (typeof body !== "function") throw new Error("no mount over node:http hands in a stream");
  return body({ maxBytes: Infinity, signal: new AbortController().signal, count: () => {} });
}

/** Sends a signed delivery; what is given as header wins over the signed ones. */
export function deliver(url: string, body: string | Uint8Array = DELIVERY, how: Sent = {}): Promise<Answered> {
  const headers = { "Content-Type": "application/json", ...signedHeaders(body, { secret: SECRET }), ...how.headers };
  return send(url, { body, ...how, headers });
}

/** The headers of a signed delivery of a declared length, for a bare connection. */
export function signedAndMeasured(body: string): Record<string, string> {
  return { ...signedHeaders(body, { secret: SECRET }), "Content-Length": String(Buffer.byteLength(body)) };
}
