import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { types } from "node:util";
import { bodyConsumed, toAfterHandlers, type RawRequest } from "../../../src/adapter.ts";
import type { Receiver } from "../../../src/index.ts";
import { NOT_FOUND, toPathTest, UNDECIDED, withSource, type Answer, type AnyMountOptions } from "./mount.ts";
import { declaredLength, readBodyNode } from "./read-body-node.ts";
import { writeResponseNode } from "./write-response-node.ts";

/** One request from a framework over `node:http`. */
interface Incoming<Req> {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** The URL before any router shortened it. */
  readonly url: string;
  /** The argument of the `source` option. */
  readonly original: Req;
  /** Bodies that this framework's parsers may have read, the most faithful first. */
  readonly earlierReads: readonly unknown[];
}

/** Fields that frameworks (`originalUrl`), parsers (`body`) and function platforms (`rawBody`) add to Node's request. */
export interface AddedFields {
  readonly originalUrl?: string;
  readonly rawBody?: unknown;
  readonly body?: unknown;
}

/** Fixes for a body that was read before the mount, in this framework's terms. */
export interface Advice {
  /** The bytes are lost. */
  readonly consumed: string;
  /** The bytes survived this time. Omitted for a platform that always parses: there is nothing to change. */
  readonly parsedBefore?: string;
}

export interface NodeMount<Req> {
  /** Whether the URL has the mount's `path`; true without one. */
  isFor(url: string): boolean;
  /** Resolves when the answer is written. Never rejects. */
  serve(incoming: Incoming<Req>): Promise<void>;
  /** Answers 404, where no other handler follows the mount. */
  notFound(req: IncomingMessage, res: ServerResponse): Promise<void>;
}

/**
 * The common part of the mounts over `node:http`.
 * @throws UsageError `option-invalid` for a `path` that no request can have, or a bad `answer` or `timeoutMs`
 */
export function createNodeMount<Req>(
  receiver: Receiver,
  options: AnyMountOptions<Req>,
  advice: Advice,
): NodeMount<Req> {
  const { source } = options;
  const isFor = toPathTest(options.path);
  const afterHandlers = toAfterHandlers(options);
  return {
    isFor,
    serve(incoming) {
      const { req, url, original } = incoming;
      return send(incoming, () => {
        const raw = { method: req.method ?? "", url, headers: req.headers, ...bodyOf(incoming, advice) };
        return receiver.receive(withSource(raw, source, original), afterHandlers);
      });
    },
    notFound: (req, res) => send({ req, res }, () => Promise.resolve(NOT_FOUND)),
  };
}

async function send(
  { req, res }: Pick<Incoming<unknown>, "req" | "res">,
  decide: () => Promise<Answer>,
): Promise<void> {
  let answer: Answer;
  try {
    answer = await decide();
  } catch {
    answer = UNDECIDED;
  }
  // Node emits a request before it parses the bytes that arrived with its headers; one turn later they are in.
  if (!req.complete) await turnOfTheLoop();
  try {
    writeResponseNode(req, res, answer);
  } catch {
    // Earlier middleware broke the response. Without an answer the service redelivers; half of one could mean anything.
    res.destroy();
  }
}

/**
 * The stream's state shows whether the body was read, `body` does not: Express 4 sets it to `{}` without reading, and a
 * reader may have set nothing.
 */
function bodyOf({ req, earlierReads }: Incoming<unknown>, advice: Advice): Pick<RawRequest, "body" | "parsedBefore"> {
  const length = declaredLength(req);
  if (length === 0) return { body: new Uint8Array(0) };
  const consumed = (): Promise<never> => Promise.reject(bodyConsumed(advice.consumed));
  // Checked again when the receiver reads: a listener of earlier middleware may have read the body by then.
  if (isUnread(req)) return { body: (limits) => (isUnread(req) ? readBodyNode(req, limits) : consumed()) };
  for (const read of earlierReads) {
    const bytes = bytesOf(read);
    // A lossy decoding to text, or a parsed JSON text, changes the length.
    if (bytes !== undefined && (length === undefined || bytes.length === length))
      return { body: bytes, parsedBefore: advice.parsedBefore };
  }
  return { body: consumed };
}

function isUnread(req: IncomingMessage): boolean {
  // With an encoding set the stream yields text: the bytes are lost.
  return !(req.readableDidRead || req.readableEncoding);
}

/** Accepts Buffers of another realm, as test runners make them. */
function bytesOf(read: unknown): Uint8Array | undefined {
  if (typeof read === "string") return Buffer.from(read);
  return types.isUint8Array(read) ? read : undefined;
}
