import { createReceiver, memoryInbox, type MountOptions, type Receiver, type ReceiverOptions } from "hookline";
import { nodeReceiver } from "hookline/node";
import type { IncomingMessage, RequestListener } from "node:http";
import { expect, onTestFinished } from "vitest";
import { send, serve, type Answered, type Sent, type Served } from "./http.ts";
import { logRecorder, type LogRecorder } from "./log-recorder.ts";
import { signedHeaders } from "./sign.ts";

export const SECRET = "whsec-this-must-never-be-seen";

export interface Setup extends Partial<ReceiverOptions> {
  readonly mount?: MountOptions<IncomingMessage>;
  /** Handlers, gate and observers. */
  readonly prepare?: (receiver: Receiver) => void;
  /** Middleware around the mount. */
  readonly around?: (listener: RequestListener) => RequestListener;
}

interface Delivered extends Sent {
  /** @default {@link SECRET} */
  readonly secret?: string;
  /** @default the receiver's present time */
  readonly at?: Date;
  /** Path and query. @default "/" */
  readonly target?: string;
}

export interface Mounted extends Served {
  readonly receiver: Receiver;
  readonly log: LogRecorder;
  /** Sends a signed request; given headers override the signed ones. */
  deliver(body?: string | Uint8Array, how?: Delivered): Promise<Answered>;
  /** The headers of a signed request. */
  signed(body: string | Uint8Array, how?: Pick<Delivered, "secret" | "at">): Record<string, string>;
  /** No line of the log may contain this text. */
  hide(text: string): void;
}

/**
 * A receiver behind a real server, until the test ends. Whatever the test does, its log then holds no secret, no signature,
 * no body, no token and no address.
 */
export async function mounted({
  mount = {},
  prepare,
  around = (own) => own,
  ...options
}: Setup = {}): Promise<Mounted> {
  const log = logRecorder();
  const hidden = new Set([SECRET, "ann@example.com", "127.0.0.1", "<Buffer", "Uint8Array("]);
  const receiver: Receiver = createReceiver({
    secret: SECRET,
    inbox: memoryInbox(),
    log: log.logger,
    // No test depends on the speed of this machine.
    ...(options.clock === undefined && { storeTimeoutMs: 60_000, bodyTimeoutMs: 60_000 }),
    ...options,
  });
  prepare?.(receiver);
  const served = await serve(around(nodeReceiver(receiver, mount)));
  onTestFinished(() => {
    void receiver.close({ drainMs: 0 });
    const text = log.text().toLowerCase();
    expect([...hidden].filter((one) => text.includes(one.toLowerCase()))).toEqual([]);
  });

  function hide(text: string): void {
    // Shorter texts, such as "{}", appear in a line by chance.
    if (text.length >= 12) hidden.add(text).add(Buffer.from(text).toString("base64"));
  }

  function signed(body: string | Uint8Array, { secret = SECRET, at }: Pick<Delivered, "secret" | "at"> = {}) {
    const headers = signedHeaders(body, { secret, at: at ?? new Date(options.clock?.now() ?? Date.now()) });
    hide(secret);
    hide(headers["X-Aurinko-Signature"] ?? "");
    hide(Buffer.from(body).toString());
    return headers;
  }

  return {
    ...served,
    receiver,
    log,
    hide,
    signed,
    deliver(body = changes(), { secret, at, target = "/", headers, ...rest } = {}) {
      const own = signed(body, { ...(secret === undefined ? {} : { secret }), ...(at === undefined ? {} : { at }) });
      for (const value of Object.values(headers ?? {})) hide(String(value));
      hide(new URL(target, served.url).searchParams.get("validationToken") ?? "");
      return send(served.url + target, { body, headers: { ...own, ...headers }, ...rest });
    },
  };
}

/** The body of a change delivery, with personal data that must not be logged. */
export function changes({
  subscription = 1001,
  accountId = 2002,
  resource = "/email/messages",
  payloads = [{ id: "m-1", changeType: "created", attributes: { threadId: "ann@example.com" } }] as unknown,
} = {}): string {
  return JSON.stringify({ subscription, accountId, resource, payloads });
}

/** Expects an answer that reveals nothing: no body, and no headers but these and the usual ones of a server. */
export function expectBare(answer: Answered, status: number, ...headers: string[]): void {
  const usual = new Set(["connection", "content-length", "date", "keep-alive"]);
  expect(answer).toMatchObject({ status, body: "" });
  expect(Object.keys(answer.headers).filter((name) => !usual.has(name))).toEqual(headers);
}
