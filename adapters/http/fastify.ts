import type { IncomingMessage, ServerResponse } from "node:http";
import type { MountOptions } from "../../src/adapter.ts";
import type { Receiver } from "../../src/index.ts";
import { createNodeMount, type AddedFields, type Advice } from "./shared/mount-node.ts";
import { assertMountOptions, assertPath } from "./shared/mount.ts";

/** The used fields of a Fastify request. */
export interface FastifyRequestLike {
  /** Node's own. */
  raw: object;
  /** The URL before `rewriteUrl`. */
  originalUrl: string;
  headers: Record<string, string | string[] | undefined>;
  params: unknown;
}

/** The used fields of a Fastify reply. */
export interface FastifyReplyLike {
  /** Node's own response. */
  raw: object;
  /** Keeps Fastify from answering. */
  hijack(): unknown;
}

/** The used fields of the Fastify instance that a plugin gets. */
export interface FastifyLike {
  /** The methods that it routes. */
  supportedMethods: string[];
  /** Adds a route. */
  route(options: FastifyRouteLike): unknown;
}

/** The route that {@link fastifyReceiver} adds. */
export interface FastifyRouteLike {
  method: string[];
  url: string;
  exposeHeadRoute: boolean;
  /** Answers. */
  onRequest: (request: FastifyRequestLike, reply: FastifyReplyLike) => void;
  /** Never called, but required by Fastify. */
  handler: (request: FastifyRequestLike, reply: FastifyReplyLike) => void;
}

/**
 * The receiver as a Fastify plugin with one route. It answers before Fastify reads the body: the app's parsers, its `bodyLimit`, hooks
 * after `onRequest`, the error handler and the serializers do not apply. `onRequest` hooks of the app run before it, and may answer
 * instead; those of another plugin do not.
 *
 * The option `path` is a Fastify route below the `prefix` of the plugin's registration; by default the route is the prefix itself.
 *
 * @example
 * await app.register(fastifyReceiver(receiver, { path: "/webhooks" }));
 * @example
 * await app.register(fastifyReceiver(receiver, { path: "/:app", source: (req) => req.params["app"] }), { prefix: "/webhooks" });
 * @throws UsageError `option-invalid` for a `path` that no request can have
 */
export function fastifyReceiver<
  Req extends FastifyRequestLike = FastifyRequestLike & { params: Record<string, string | undefined> },
>(receiver: Receiver, options: MountOptions<Req> = {}): (app: FastifyLike) => Promise<void> {
  const { path = "/", source } = options;
  assertMountOptions("fastifyReceiver", options);
  assertPath(path);
  // No `path`: the router matches it, with patterns and prefixes.
  const mount = createNodeMount(receiver, { source }, ADVICE);

  function answer(request: FastifyRequestLike, reply: FastifyReplyLike): void {
    reply.hijack();
    const [req, res] = [request.raw as IncomingMessage & AddedFields, reply.raw as ServerResponse];
    const earlierReads = [req.rawBody, req.body];
    void mount.serve({ req, res, url: request.originalUrl, original: request as Req, earlierReads });
  }

  return async (app) => {
    // An `onRequest` hook of this route, because Fastify reads the body before the handler, which is never reached.
    app.route({ method: app.supportedMethods, url: path, exposeHeadRoute: false, onRequest: answer, handler: answer });
  };
}

const ADVICE: Advice = {
  consumed:
    "Add the `onRequest` hook that reads `request.raw` in a plugin of its own, together with the routes that need it, beside `app.register(fastifyReceiver(receiver))`.",
  parsedBefore:
    "Add the `onRequest` hook that reads `request.raw` in a plugin of its own, beside `app.register(fastifyReceiver(receiver))`: what refuses a delivery before the mount, refuses it unseen.",
};
