import type { IncomingMessage, ServerResponse } from "node:http";
import type { MountOptions } from "../../src/adapter.ts";
import type { Receiver } from "../../src/index.ts";
import { createNodeMount, type Added, type Advice } from "./shared/mount-node.ts";
import { assertMountOptions } from "./shared/mount-options.ts";
import { assertPath } from "./shared/path.ts";

/** What is used of a Fastify request. */
export interface FastifyRequestLike {
  /** Node's own. */
  raw: object;
  /** The URL before `rewriteUrl`. */
  originalUrl: string;
  headers: Record<string, string | string[] | undefined>;
  params: unknown;
}

/** What is used of a Fastify reply. */
export interface FastifyReplyLike {
  /** Node's own response. */
  raw: object;
  /** Takes the answer out of Fastify's hands. */
  hijack(): unknown;
}

/** What is used of a Fastify instance: the one that a plugin is given. */
export interface FastifyLike {
  /** The methods that it lets through to routes. */
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
  /** Not reached, and asked for by Fastify. */
  handler: (request: FastifyRequestLike, reply: FastifyReplyLike) => void;
}

/**
 * The receiver as a Fastify plugin that is one route. It answers before Fastify reads the body: the app's parsers and its `bodyLimit`
 * have no part in it, nor have hooks that come after `onRequest`, the error handler and the serializers. `onRequest` hooks of the
 * app run before it, and may answer on their own; those of another plugin do not.
 *
 * The option `path` is a route as Fastify writes it, below the `prefix` that the plugin is registered with; without it the prefix is
 * the route.
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
  // Which paths are for it is the router's affair, which knows patterns and prefixes.
  const mount = createNodeMount(receiver, { source }, ADVICE);

  function take(request: FastifyRequestLike, reply: FastifyReplyLike): void {
    reply.hijack();
    const [req, res] = [request.raw as IncomingMessage & Added, reply.raw as ServerResponse];
    const left = [req.rawBody, req.body];
    void mount.serve({ req, res, url: request.originalUrl, request: request as Req, left });
  }

  return async (app) => {
    // A hook of the route alone, as what comes next would read the body. No handler is reached.
    app.route({ method: app.supportedMethods, url: path, exposeHeadRoute: false, onRequest: take, handler: take });
  };
}

const ADVICE: Advice = {
  consumed:
    "Add the `onRequest` hook that reads `request.raw` in a plugin of its own, together with the routes that need it, beside `app.register(fastifyReceiver(receiver))`.",
  parsedBefore:
    "Add the `onRequest` hook that reads `request.raw` in a plugin of its own, beside `app.register(fastifyReceiver(receiver))`: what refuses a delivery before the mount, refuses it unseen.",
};
