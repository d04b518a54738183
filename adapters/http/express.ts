// oxlint-disable typescript/no-explicit-any -- Express's own types have `any` there, and users' types must fit
import type { IncomingMessage, ServerResponse } from "node:http";
import type { MountOptions } from "../../src/adapter.ts";
import type { Receiver } from "../../src/index.ts";
import { createNodeMount, type Advice } from "./shared/mount-node.ts";
import { assertMountOptions } from "./shared/mount.ts";

/** The used fields of an Express request, 4 or 5. */
export interface ExpressRequestLike {
  method?: string | undefined;
  url?: string | undefined;
  originalUrl?: string | undefined;
  headers: Record<string, string | string[] | undefined>;
  body?: any;
  rawBody?: any;
  readableDidRead?: boolean | undefined;
  /** Node's own. */
  on(event: string, listener: (...args: any[]) => void): unknown;
}

/** The used fields of an Express response, 4 or 5. */
export interface ExpressResponseLike {
  statusCode: number;
  /** Node's own. */
  setHeader(name: string, value: string): unknown;
  /** Node's own. */
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
    // Express's objects are Node's own with another prototype; the types above hold only what users' types must have.
    const [req, res] = [request, response] as unknown as [IncomingMessage, ServerResponse];
    void mount.serve({ req, res, url, original: request, earlierReads: [request.rawBody, request.body] });
  };
}

/**
 * For an app whose parser runs before the mount: stores the bytes in `req.rawBody`, as other libraries, function platforms and other
 * copies of this package do. Mounting first is better: a parser itself refuses bodies over its limit (100 kB by default).
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
