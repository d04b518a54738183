// oxlint-disable typescript/no-explicit-any -- Express itself says `any` there: what users write for it must fit
import type { IncomingMessage, ServerResponse } from "node:http";
import type { MountOptions } from "../../src/adapter.ts";
import type { Receiver } from "../../src/index.ts";
import { createNodeMount, type Advice } from "./shared/mount-node.ts";
import { assertMountOptions } from "./shared/mount-options.ts";

/** What is used of an Express request, 4 or 5. */
export interface ExpressRequestLike {
  method?: string | undefined;
  url?: string | undefined;
  originalUrl?: string | undefined;
  headers: Record<string, string | string[] | undefined>;
  body?: any;
  rawBody?: any;
  readableDidRead?: boolean | undefined;
  /** As of Node's request, which it is. */
  on(event: string, listener: (...args: any[]) => void): unknown;
}

/** What is used of an Express response, 4 or 5. */
export interface ExpressResponseLike {
  statusCode: number;
  /** As of Node's response, which it is. */
  setHeader(name: string, value: string): unknown;
  /** As of Node's response, which it is. */
  end(body?: string): unknown;
  headersSent: boolean;
}

/**
 * The receiver as an Express handler, for a route, for a path prefix or for the whole app. With `options.path` other
 * paths go on to the next handler. It never calls `next` with an error.
 *
 * @example
 * app.post("/webhooks", expressReceiver(receiver)); // above app.use(express.json())
 * @throws UsageError `option-invalid` for a `path` that no request can have
 */
export function expressReceiver<
  Req extends ExpressRequestLike = ExpressRequestLike & { params: Record<string, string> },
>(
  receiver: Receiver,
  options: MountOptions<Req> = {},
): (req: Req, res: ExpressResponseLike, next: (error?: any) => void) => void {
  assertMountOptions("expressReceiver", options);
  const mount = createNodeMount(receiver, options, ADVICE);
  return (request, response, next) => {
    const url = request.originalUrl ?? request.url ?? "";
    if (!mount.isFor(url)) return next();
    // Express gives Node's own two objects a new prototype; the types above say no more than users' types need to have.
    const [req, res] = [request, response] as unknown as [IncomingMessage, ServerResponse];
    void mount.serve({ req, res, url, request, left: [request.rawBody, request.body] });
  };
}

/**
 * For an app whose parser runs before the mount: keeps the bytes on `req.rawBody`, where other libraries and function
 * platforms put them too, so that two copies of this package understand each other. Mounting first is better: a parser
 * refuses on its own what is over its limit (100 kB by default).
 *
 * @example
 * app.use(express.json({ verify: keepRawBody }));
 */
export function keepRawBody(req: object, _res: object, body: Uint8Array): void {
  (req as { rawBody?: Uint8Array }).rawBody = body;
}

const ADVICE: Advice = {
  consumed:
    'Move `app.post("/webhooks", expressReceiver(receiver))` above `app.use(express.json())`; where that cannot be, keep the bytes: `app.use(express.json({ verify: keepRawBody }))` with keepRawBody of hookline/express.',
  parsedBefore:
    'Move `app.post("/webhooks", expressReceiver(receiver))` above `app.use(express.json())`: a parser refuses on its own what is over its limit, 100 kB by default.',
};
