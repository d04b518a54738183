import type { RequestListener } from "node:http";
import { buffer } from "node:stream/consumers";
import type { LambdaHandler } from "hookline/aws-lambda";

type Result = Awaited<ReturnType<LambdaHandler>>;

/** What stands before a function: how it makes an event of a request, and what of the result it reads. */
export interface Gateway {
  toEvent(request: Arrived): object;
  /** @default those of `headers` */
  headersOf?(result: Result): readonly (readonly [string, string | readonly string[]])[];
}

/** A request as it came in. */
interface Arrived {
  readonly method: string;
  readonly path: string;
  /** Without its question mark. */
  readonly query: string;
  /** Every header with its name as it was sent, doubled ones twice. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
}

const httpApi: Gateway = {
  toEvent: ({ method, path, query, headers, body }) => ({
    version: "2.0",
    routeKey: "$default",
    rawPath: path,
    rawQueryString: query,
    headers: mapValues(lists(headers, lower), (values) => values.join(",")),
    requestContext: { http: { method, path, protocol: "HTTP/1.1" }, stage: "$default" },
    ...(body.length === 0 ? { isBase64Encoded: false } : asText(headers, body)),
  }),
};

const restApi: Gateway = {
  toEvent: ({ method, path, query, headers, body }) => {
    const multiValueHeaders = lists(headers);
    const decoded = lists([...new URLSearchParams(query)]);
    return {
      resource: "/{proxy+}",
      path,
      httpMethod: method,
      headers: mapValues(multiValueHeaders, last),
      multiValueHeaders,
      queryStringParameters: query === "" ? null : mapValues(decoded, last),
      multiValueQueryStringParameters: query === "" ? null : decoded,
      requestContext: { stage: "prod", path: `/prod${path}`, httpMethod: method },
      // As with `binaryMediaTypes: ["*/*"]`.
      ...(body.length === 0 ? { body: null, isBase64Encoded: false } : inBase64(body)),
    };
  },
};

/** Undecoded, one by one or in lists. */
const loadBalancer: Gateway = {
  toEvent: (request) => ({
    ...ofLoadBalancer(request),
    headers: mapValues(lists(request.headers, lower), last),
    queryStringParameters: mapValues(lists(undecoded(request.query)), last),
  }),
};

const loadBalancerWithLists: Gateway = {
  toEvent: (request) => ({
    ...ofLoadBalancer(request),
    multiValueHeaders: lists(request.headers, lower),
    multiValueQueryStringParameters: lists(undecoded(request.query)),
  }),
  headersOf: ({ multiValueHeaders }) => Object.entries(multiValueHeaders ?? { "x-without": "multi-value headers" }),
};

export const gateways = {
  "an HTTP API, or a function URL": httpApi,
  "a REST API": restApi,
  "a load balancer": loadBalancer,
  "a load balancer with multi-value headers": loadBalancerWithLists,
} as const satisfies Record<string, Gateway>;

/** A gateway on this machine. The event goes through JSON, as on its way to the runtime, and so does the result. */
export function listenerOf(
  { toEvent, headersOf = ({ headers }) => Object.entries(headers) }: Gateway,
  handler: LambdaHandler,
): RequestListener {
  return (req, res) => {
    const [path = "", query = ""] = (req.url ?? "").split(/\?(.*)/s);
    const headers = Array.from({ length: req.rawHeaders.length / 2 }, (_, at): [string, string] => [
      req.rawHeaders[2 * at] ?? "",
      req.rawHeaders[2 * at + 1] ?? "",
    ]);
    const invoke = async (): Promise<void> => {
      const body = await buffer(req);
      const event = toEvent({ method: req.method ?? "", path, query, headers, body });
      const context = { getRemainingTimeInMillis: () => 60_000 };
      const result = overJson(await handler(overJson(event), context)) as Result;
      for (const [name, value] of headersOf(result)) res.setHeader(name, value);
      res.writeHead(result.statusCode).end(Buffer.from(result.body, result.isBase64Encoded ? "base64" : "utf8"));
    };
    // A client that went away has no answer; a function that failed gets the answer of a gateway.
    invoke().catch(() => res.writeHead(502).end());
  };
}

function overJson(value: object): unknown {
  return JSON.parse(JSON.stringify(value));
}

function ofLoadBalancer({ method, path, headers, body }: Arrived): object {
  return {
    requestContext: {
      elb: { targetGroupArn: "arn:aws:elasticloadbalancing:region:123456789012:targetgroup/my/6d0ecf" },
    },
    httpMethod: method,
    path,
    ...(body.length === 0 ? { body: "", isBase64Encoded: false } : asText(headers, body)),
  };
}

/**
 * A text where the content type says that it is one, as the documentation lists them. What becomes of one that is no UTF-8 it does
 * not say: here it keeps its bytes, and what was lost has a test of its own.
 */
function asText(headers: Arrived["headers"], body: Buffer): object {
  const type = headers.find(([name]) => lower(name) === "content-type")?.[1] ?? "";
  const isText =
    /^(?:text\/|application\/(?:json|javascript|xml))/.test(type) && body.equals(Buffer.from(body.toString()));
  return isText ? { body: body.toString(), isBase64Encoded: false } : inBase64(body);
}

function inBase64(body: Buffer): object {
  return { body: body.toString("base64"), isBase64Encoded: true };
}

function lists(pairs: readonly (readonly [string, string])[], key = (name: string) => name): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const [name, value] of pairs) (found[key(name)] ??= []).push(value);
  return found;
}

function undecoded(query: string): [string, string][] {
  return query.split("&").flatMap((part) => {
    const [name = "", value = ""] = part.split(/=(.*)/s);
    return name === "" ? [] : [[name, value] as [string, string]];
  });
}

function mapValues<T, U>(record: Record<string, T>, map: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
}

function last(values: readonly string[]): string {
  return values.at(-1) ?? "";
}

function lower(name: string): string {
  return name.toLowerCase();
}
