import type { IncomingMessage, ServerResponse } from "node:http";
import type { MountOptions } from "../../../src/adapter.ts";
import type { Receiver } from "../../../src/index.ts";
import { createNodeMount, type Added, type Advice } from "../shared/mount-node.ts";

/** What is used of Nest's HTTP adapters: the one for Express, the one for Fastify. */
export interface HttpAdapterLike {
  use(middleware: Middleware): unknown;
  /** Express's or Fastify's own app. */
  getInstance(): MiddlewareAppLike | HookAppLike;
}

/** Express, or a Fastify that runs middleware. */
interface MiddlewareAppLike {
  readonly use: object;
}

/** A Fastify that runs none, or none yet. */
interface HookAppLike {
  readonly use?: undefined;
  addHook(name: "onRequest", hook: (request: Raw, reply: Raw, next: () => void) => void): unknown;
}

type Middleware = (req: IncomingMessage & Added, res: ServerResponse, next: () => void) => void;

interface Raw {
  readonly raw: object;
}

/**
 * Puts the receiver before everything that the app itself adds: its body parser, middleware, guards, interceptors, pipes and exception
 * filters have no part in its requests.
 *
 * @throws UsageError `option-invalid` for a `path` that no request can have
 */
export function mountFirst(adapter: HttpAdapterLike, receiver: Receiver, options: MountOptions): void {
  const mount = createNodeMount(receiver, options, ADVICE);
  const middleware: Middleware = (req, res, next) => {
    const url = req.originalUrl ?? req.url ?? "";
    if (!mount.isFor(url)) return next();
    void mount.serve({ req, res, url, request: req, left: [req.rawBody, req.body] });
  };
  const app = adapter.getInstance();
  if (app.use !== undefined) {
    adapter.use(middleware);
    return;
  }
  // Middleware that comes later is run by a hook that comes later.
  app.addHook("onRequest", ({ raw: req }, { raw: res }, next) =>
    middleware(req as IncomingMessage, res as ServerResponse, next),
  );
}

const ADVICE: Advice = {
  consumed:
    "Leave the parser to Nest (`NestFactory.create(AppModule)`), which adds it after the mount; the Express or Fastify app that is handed to Nest's adapter must not read bodies itself.",
  parsedBefore:
    "Leave the parser to Nest (`NestFactory.create(AppModule)`), which adds it after the mount: what refuses a delivery before the mount, refuses it unseen.",
};
