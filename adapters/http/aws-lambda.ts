// oxlint-disable typescript/no-explicit-any -- an event is whatever AWS's types, or the user's own, say that it is
import {
  bodyConsumed,
  toAfterHandlers,
  type AfterHandlers,
  type MountOptions,
  type OutlivesFunction,
  type RawRequest,
  type StorageKind,
} from "../../src/adapter.ts";
import { UsageError, type Receiver } from "../../src/index.ts";
import {
  AFTER_HANDLERS,
  assertMountOptions,
  assertReceiver,
  NOT_FOUND,
  toPathTest,
  UNDECIDED,
  withSource,
  type Answer,
  type AnyMountOptions,
} from "./shared/mount.ts";

/** The result that API Gateway, function URLs and load balancers expect. */
export interface LambdaResultLike {
  statusCode: number;
  headers: Record<string, string>;
  /** For a load balancer whose target group has multi-value headers on: it ignores `headers`. */
  multiValueHeaders?: Record<string, string[]>;
  body: string;
  isBase64Encoded: boolean;
}

/** The `handler` that a Lambda function exports. Two parameters: the runtime refuses a third, the callback. */
export type LambdaHandler = (event: any, context: object) => Promise<LambdaResultLike>;

/**
 * The receiver as a Lambda function behind an API Gateway API (REST, HTTP), a function URL or an Application Load Balancer: the
 * event shows which. It rejects only for an event that is no HTTP request, such as a queue's (UsageError `lambda-event-unknown`).
 *
 * - `options.path` is compared with the path as the API's routes name it, without the stage; with a REST API on a domain of its
 *   own the base path stands before it. Other paths are answered 404.
 * - A secret look-up gets `{ event, context }` as `platform`.
 * - After the answer the process freezes: nothing runs. Give the function more time than the receiver takes to store
 *   (`storeTimeoutMs`, 5 s; Lambda's default is 3 s). With `answer: "after-handlers"` the handlers get `timeoutMs`, or the
 *   invocation's remaining time less half a second, whichever is shorter.
 * - A REST API passes bodies as text unless all of its media types are binary (`binaryMediaTypes`): bytes that are not UTF-8
 *   are lost, and such a delivery is answered 500 if its declared length shows the loss, else 401.
 * - A load balancer without multi-value headers passes only the last of a repeated header or parameter.
 *
 * @example
 * export const handler = lambdaReceiver(receiver); // with a forwardInbox, to SQS for example
 * @throws UsageError `receiver-invalid`; `option-invalid` for a `path` that no request can have, or a bad `answer` or `timeoutMs`
 */
export function lambdaReceiver<K extends StorageKind>(
  receiver: Receiver<K> & OutlivesFunction<K>,
  options?: MountOptions<any>,
): LambdaHandler;
/** Answers when the handlers are done. */
export function lambdaReceiver(receiver: Receiver, options: MountOptions<any> & AfterHandlers): LambdaHandler;
export function lambdaReceiver(receiver: Receiver, options: AnyMountOptions<any> = {}): LambdaHandler {
  assertMountOptions("lambdaReceiver", options, AFTER_HANDLERS);
  assertReceiver(receiver);
  const isFor = toPathTest(options.path);
  const afterHandlers = toAfterHandlers(options);

  async function answer(event: LambdaEventLike, context: LambdaContextLike): Promise<Answer> {
    const request = toLambdaRequest(event);
    if (!isFor(request.url)) return NOT_FOUND;
    const raw = { ...request, platform: { event, context } };
    try {
      return await receiver.receive(
        withSource(raw, options.source, event),
        afterHandlers && inTime(afterHandlers, context),
      );
    } catch {
      return UNDECIDED;
    }
  }

  return async (event: LambdaEventLike, context) => toResult(await answer(event, context), event);
}

interface LambdaContextLike {
  /** A local runtime may have none. */
  getRemainingTimeInMillis?(): number;
}

/** Time to return the answer: an invocation that times out returns none. */
const MARGIN_MS = 500;

function inTime({ timeoutMs, ...given }: AfterHandlers, context: LambdaContextLike): AfterHandlers {
  return {
    ...given,
    // Read when the handlers start: earlier steps have used some of the time.
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

/** The used fields of events of API Gateway (REST and HTTP APIs), function URLs and Application Load Balancers. */
interface LambdaEventLike {
  readonly version?: string | undefined;
  readonly httpMethod?: string | undefined;
  readonly path?: string | undefined;
  readonly rawPath?: string | undefined;
  readonly rawQueryString?: string | undefined;
  readonly headers?: Singles | undefined;
  readonly multiValueHeaders?: Lists | undefined;
  readonly queryStringParameters?: Singles | undefined;
  readonly multiValueQueryStringParameters?: Lists | undefined;
  readonly requestContext?:
    | {
        readonly http?: { readonly method?: string | undefined } | undefined;
        readonly elb?: object | undefined;
        readonly stage?: string | undefined;
      }
    | undefined;
  readonly body?: string | null | undefined;
  readonly isBase64Encoded?: boolean | undefined;
}

type Singles = Readonly<Record<string, string>> | null;
type Lists = Readonly<Record<string, readonly string[]>> | null;

/**
 * The HTTP request of an event; its URL has neither host nor API stage.
 * @throws UsageError `lambda-event-unknown` for an event without a request
 */
function toLambdaRequest(given: unknown): Omit<RawRequest, "source" | "platform"> {
  const event = (given ?? {}) as LambdaEventLike;
  const method = event.requestContext?.http?.method ?? event.httpMethod;
  const path = event.rawPath ?? event.path;
  if (typeof method !== "string" || typeof path !== "string") throw unknownEvent(event);
  const headers = headersOf(event);
  const query = queryOf(event);
  return {
    method,
    url: withoutStage(path, event) + (query === "" ? "" : `?${query}`),
    headers: Object.fromEntries(headers),
    body: bodyOf(event, headers.get("content-length")?.[0]),
  };
}

function isOfLoadBalancer({ requestContext }: LambdaEventLike): boolean {
  return requestContext?.elb !== undefined;
}

/** HTTP APIs put their stage before the path, in both formats; REST APIs, whose events have no version, do not. */
function withoutStage(path: string, { version, requestContext }: LambdaEventLike): string {
  const stage = `/${requestContext?.stage}`;
  return version !== undefined && `${path}/`.startsWith(`${stage}/`) ? path.slice(stage.length) || "/" : path;
}

/** By lower-case name: a header in two spellings is a repeated header. */
function headersOf({ multiValueHeaders, headers }: LambdaEventLike): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [name, value] of pairsOf(multiValueHeaders ?? headers)) {
    const values = found.get(name.toLowerCase());
    if (values === undefined) found.set(name.toLowerCase(), [value]);
    else values.push(value);
  }
  return found;
}

function queryOf(event: LambdaEventLike): string {
  if (event.rawQueryString !== undefined) return event.rawQueryString;
  const pairs = pairsOf(event.multiValueQueryStringParameters ?? event.queryStringParameters);
  // API Gateway decodes them, a load balancer does not.
  if (!isOfLoadBalancer(event)) return new URLSearchParams(pairs).toString();
  return pairs.map(([name, value]) => `${name}=${value}`).join("&");
}

function pairsOf(given: Singles | Lists | undefined): [string, string][] {
  return Object.entries(given ?? {}).flatMap(([name, values]) =>
    [values].flat().map((value): [string, string] => [name, value]),
  );
}

function bodyOf({ body, isBase64Encoded }: LambdaEventLike, declared: string | undefined): RawRequest["body"] {
  if (!body) return new Uint8Array(0);
  // Decoded only after the header checks.
  if (isBase64Encoded) return () => Promise.resolve(Buffer.from(body, "base64"));
  return async () => {
    const bytes = Buffer.from(body);
    // A lossy decoding changes the length.
    if (declared !== undefined && bytes.length !== Number(declared)) throw bodyConsumed(DECODED_AS_TEXT);
    return bytes;
  };
}

const DECODED_AS_TEXT =
  'API Gateway decoded a non-UTF-8 body as text; the original bytes are lost. Use a REST API with `binaryMediaTypes: ["*/*"]`, which passes bodies as bytes.';

function unknownEvent(event: object): UsageError {
  const keys = Object.keys(event).slice(0, MOST_KEYS).join(", ");
  return new UsageError(
    "lambda-event-unknown",
    `lambdaReceiver expects the event of an HTTP request, got one with the keys (${keys}).`,
    {
      fix: "Invoke the function by an API Gateway API, a function URL or an Application Load Balancer; a queue's consumer calls `receiver.handle(delivery)` instead.",
    },
  );
}

const MOST_KEYS = 8;
