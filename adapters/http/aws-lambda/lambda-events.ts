import { bodyConsumed, type RawRequest } from "../../../src/adapter.ts";
import { UsageError } from "../../../src/index.ts";

/** What is used of the events of API Gateway (REST and HTTP APIs), function URLs and Application Load Balancers. */
export interface LambdaEventLike {
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
 * The HTTP request that an event stands for; its URL has no host, and no stage of an API.
 * @throws UsageError `lambda-event-unknown` for an event that stands for none
 */
export function toLambdaRequest(given: unknown): Omit<RawRequest, "source" | "platform"> {
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

/** True for a load balancer's event. */
export function isOfLoadBalancer({ requestContext }: LambdaEventLike): boolean {
  return requestContext?.elb !== undefined;
}

/** HTTP APIs put their stage before the path, in both formats; REST APIs, whose events have no version, do not. */
function withoutStage(path: string, { version, requestContext }: LambdaEventLike): string {
  const stage = `/${requestContext?.stage}`;
  return version !== undefined && `${path}/`.startsWith(`${stage}/`) ? path.slice(stage.length) || "/" : path;
}

/** Under their names in lower case: what came in two spellings came twice. */
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
  // API Gateway has decoded them, a load balancer has not.
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
  // Decoded when the headers have passed.
  if (isBase64Encoded) return () => Promise.resolve(Buffer.from(body, "base64"));
  return async () => {
    const bytes = Buffer.from(body);
    // A text that was decoded with loss has another length than the bytes that arrived.
    if (declared !== undefined && bytes.length !== Number(declared)) throw bodyConsumed(LOST);
    return bytes;
  };
}

const LOST =
  'The gateway made a text of bytes that are none. Take a REST API with `binaryMediaTypes: ["*/*"]`: it hands bodies over as bytes.';

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
