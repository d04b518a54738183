// oxlint-disable typescript/no-explicit-any -- an event is whatever AWS's types, or the user's own, say that it is
import {
  toAnswering,
  type AfterHandlers,
  type StorageKind,
  type MountOptions,
  type OutlivesFunction,
} from "../../src/adapter.ts";
import type { Receiver } from "../../src/index.ts";
import { FOREIGN_PATH, UNDECIDED, type Answer } from "./shared/mount-responses.ts";
import { isOfLoadBalancer, toLambdaRequest, type LambdaEventLike } from "./aws-lambda/lambda-events.ts";
import type { AnyMountOptions } from "./shared/mount-fetch.ts";
import { toPathTest } from "./shared/path.ts";
import { AFTER_HANDLERS, assertMountOptions } from "./shared/mount-options.ts";
import { withSource } from "./shared/source-option.ts";

/** What API Gateway, a function URL and a load balancer take as an answer. */
export interface LambdaResultLike {
  statusCode: number;
  headers: Record<string, string>;
  /** For a load balancer whose target group has multi-value headers on: it reads no others. */
  multiValueHeaders?: Record<string, string[]>;
  body: string;
  isBase64Encoded: boolean;
}

/** What a Lambda function exports as its `handler`. Two parameters: the runtime refuses one that waits for a callback. */
export type LambdaHandler = (event: any, context: object) => Promise<LambdaResultLike>;

/**
 * The receiver as a Lambda function behind an API Gateway API (REST, HTTP), a function URL or an Application Load Balancer: the
 * event tells which. It rejects for an event that is no HTTP request, such as a queue's (UsageError `lambda-event-unknown`), and
 * for nothing else.
 *
 * - `options.path` is compared with the path as the API's routes name it, without the stage; with a REST API on a domain of its
 *   own the base path stands before it. Other paths are answered 404.
 * - A look-up of secrets finds `{ event, context }` as `platform`.
 * - After the answer the process freezes: nothing runs then. Give the function more time than the receiver takes to keep
 *   (`storeTimeoutMs`, 5 s; Lambda's default is 3 s). With `answer: "after-handlers"` the handlers get `timeoutMs`, or what the
 *   invocation has left but half a second, if that is less.
 * - A REST API hands bodies over as text unless all of its media types are binary (`binaryMediaTypes`): bytes that are no UTF-8
 *   are lost then, and such a delivery is answered 500 where its declared length tells, 401 elsewhere.
 * - A load balancer without multi-value headers shows only the last of a doubled header or parameter.
 *
 * @example
 * export const handler = lambdaReceiver(receiver); // with a forwardInbox, to SQS for example
 * @throws UsageError `option-invalid` for a `path` that no request can have, or a bad `answer` or `timeoutMs`
 */
export function lambdaReceiver<K extends StorageKind>(
  receiver: Receiver<K> & OutlivesFunction<K>,
  options?: MountOptions<any>,
): LambdaHandler;
/** Answers when the handlers are done. */
export function lambdaReceiver(receiver: Receiver, options: MountOptions<any> & AfterHandlers): LambdaHandler;
export function lambdaReceiver(receiver: Receiver, options: AnyMountOptions<any> = {}): LambdaHandler {
  assertMountOptions("lambdaReceiver", options, AFTER_HANDLERS);
  const isFor = toPathTest(options.path);
  const answering = toAnswering(options);

  async function answer(event: LambdaEventLike, context: LambdaContextLike): Promise<Answer> {
    const request = toLambdaRequest(event);
    if (!isFor(request.url)) return FOREIGN_PATH;
    const raw = { ...request, platform: { event, context } };
    try {
      return await receiver.receive(withSource(raw, options.source, event), answering && inTime(answering, context));
    } catch {
      return UNDECIDED;
    }
  }

  return async (event: LambdaEventLike, context) => toResult(await answer(event, context), event);
}

interface LambdaContextLike {
  /** A runtime on one's own machine may have none. */
  getRemainingTimeInMillis?(): number;
}

/** For the answer's way back: an invocation that runs out of time has none. */
const MARGIN_MS = 500;

function inTime({ answer, timeoutMs }: AfterHandlers, context: LambdaContextLike): AfterHandlers {
  return {
    answer,
    // Asked when the handlers begin: what came before them has taken its time.
    get timeoutMs() {
      const leftMs = context.getRemainingTimeInMillis?.() ?? Infinity;
      return Math.max(1, Math.min(timeoutMs, leftMs - MARGIN_MS));
    },
  };
}

function toResult({ status, headers, body }: Answer, event: LambdaEventLike): LambdaResultLike {
  const result = { statusCode: status, headers: { ...headers }, body, isBase64Encoded: false };
  if (!isOfLoadBalancer(event) || !event.multiValueHeaders) return result;
  const lists = Object.entries(headers).map(([name, value]) => [name, [value]]);
  return { ...result, headers: {}, multiValueHeaders: Object.fromEntries(lists) as Record<string, string[]> };
}
