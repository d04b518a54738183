import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { types } from "node:util";
import { bodyConsumed, toAnswering, type MountOptions, type RawRequest } from "../../../src/adapter.ts";
import type { Receiver } from "../../../src/index.ts";
import { answerNode } from "./write-response-node.ts";
import { FOREIGN_PATH, UNDECIDED, type Answer } from "./mount-responses.ts";
import type { AnyMountOptions } from "./mount-fetch.ts";
import { toPathTest } from "./path.ts";
import { declaredLength, readNode } from "./read-body-node.ts";
import { withSource } from "./source-option.ts";

/** One request as a framework over `node:http` hands it on. */
interface Arrival<Req> {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** The URL before any router cut something off it. */
  readonly url: string;
  /** What `source` is asked with. */
  readonly request: Req;
  /** What this framework's parsers may have left, the most faithful first. */
  readonly left: readonly unknown[];
}

/** What frameworks (`originalUrl`), parsers (`body`) and function platforms (`rawBody`) put on Node's request. */
export interface Added {
  readonly originalUrl?: string;
  readonly rawBody?: unknown;
  readonly body?: unknown;
}

/** What to change where something reads the body before the mount, in this framework's words. */
export interface Advice {
  /** The bytes are gone. */
  readonly consumed: string;
  /** They survived this time. Left out where a platform always parses, and there is nothing to change. */
  readonly parsedBefore?: string;
}

export interface NodeMount<Req> {
  /** Without a `path` everything that reaches the mount is for it. */
  isFor(url: string): boolean;
  /** Resolves when the answer is written. Never rejects. */
  serve(arrival: Arrival<Req>): Promise<void>;
  /** For a mount that has nobody to pass a foreign path to. */
  refuse(arrival: Pick<Arrival<Req>, "req" | "res">): Promise<void>;
}

/**
 * What the mounts over `node:http` share.
 * @throws UsageError `option-invalid` for a `path` that no request can have, or a bad `answer` or `timeoutMs`
 */
export function createNodeMount<Req>(
  receiver: Receiver,
  options: AnyMountOptions<Req>,
  advice: Advice,
): NodeMount<Req> {
  const { source } = options;
  const isFor = toPathTest(options.path);
  const answering = toAnswering(options);
  return {
    isFor,
    serve: (arrival) => send(arrival, () => receiver.receive(toRawRequest(arrival, source, advice), answering)),
    refuse: (arrival) => send(arrival, () => Promise.resolve(FOREIGN_PATH)),
  };
}

function toRawRequest<Req>(arrival: Arrival<Req>, source: MountOptions<Req>["source"], advice: Advice): RawRequest {
  const { req, url, request } = arrival;
  const raw = { method: req.method ?? "", url, headers: req.headers, ...bodyOf(arrival, advice) };
  return withSource(raw, source, request);
}

async function send({ req, res }: Pick<Arrival<unknown>, "req" | "res">, decide: () => Promise<Answer>): Promise<void> {
  let answer: Answer;
  try {
    answer = await decide();
  } catch {
    answer = UNDECIDED;
  }
  // Node hands a request over before it looks at what came behind its headers; a turn later all of that is in.
  if (!req.complete) await turnOfTheLoop();
  try {
    answerNode(req, res, answer);
  } catch {
    // A response that something before the mount broke: no answer is a redelivery, a half one may be read as anything.
    res.destroy();
  }
}

/**
 * The stream's state tells who has read, never `body`: Express 4 sets it to `{}` without having read, and a body
 * that was read may have left none.
 */
function bodyOf({ req, left }: Arrival<unknown>, advice: Advice): Pick<RawRequest, "body" | "parsedBefore"> {
  const length = declaredLength(req);
  if (length === 0) return { body: new Uint8Array(0) };
  const consumed = (): Promise<never> => Promise.reject(bodyConsumed(advice.consumed));
  // Asked again when the receiver wants the bytes: a listener that an earlier middleware set may have run meanwhile.
  if (isUntouched(req)) return { body: (limits) => (isUntouched(req) ? readNode(req, limits) : consumed()) };
  for (const thing of left) {
    const bytes = bytesOf(thing);
    // A text that was decoded with loss, or a JSON text's value, has another length than the bytes that arrived.
    if (bytes !== undefined && (length === undefined || bytes.length === length))
      return { body: bytes, parsedBefore: advice.parsedBefore };
  }
  return { body: consumed };
}

function isUntouched(req: IncomingMessage): boolean {
  // With an encoding set the stream gives text, and the bytes cannot be had any more.
  return !(req.readableDidRead || req.readableEncoding);
}

/** Also for a Buffer of another realm, as test runners make them. */
function bytesOf(thing: unknown): Uint8Array | undefined {
  if (typeof thing === "string") return Buffer.from(thing);
  return types.isUint8Array(thing) ? thing : undefined;
}
