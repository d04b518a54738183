import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { toAfterHandlers } from "../../../src/adapter.ts";
import type { Receiver } from "../../../src/index.ts";
import { bodyOf } from "./parsed-bytes-node.ts";
import {
  assertReceiver,
  NOT_FOUND,
  toPathTest,
  UNDECIDED,
  withSource,
  type Answer,
  type AnyMountOptions,
} from "./mount.ts";
import { writeResponseNode } from "./write-response-node.ts";

/** One request from a framework over `node:http`. */
export interface Incoming<Req> {
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
 * @throws UsageError `receiver-invalid`; `option-invalid` for a `path` that no request can have, or a bad `answer` or `timeoutMs`
 */
export function createNodeMount<Req>(
  receiver: Receiver,
  options: AnyMountOptions<Req>,
  advice: Advice,
): NodeMount<Req> {
  const { source } = options;
  assertReceiver(receiver);
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
