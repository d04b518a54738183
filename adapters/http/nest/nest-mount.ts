import type { IncomingMessage, ServerResponse } from "node:http";
import type { MountOptions } from "../../../src/adapter.ts";
import type { Receiver } from "../../../src/index.ts";
import { createNodeMount, type AddedFields, type Advice } from "../shared/mount-node.ts";

/** The used fields of Nest's HTTP adapters for Express and Fastify. */
export interface HttpAdapterLike {
  use(middleware: Middleware): unknown;
  /** Express's or Fastify's own app. */
  getInstance(): MiddlewareAppLike | HookAppLike;
}

/** Express, or a Fastify with middleware support. */
interface MiddlewareAppLike {
  readonly use: object;
}

/** A Fastify without middleware support, or before it is added. */
interface HookAppLike {
  readonly use?: undefined;
  addHook(name: "onRequest", hook: (request: Raw, reply: Raw, next: () => void) => void): unknown;
}

type Middleware = (req: IncomingMessage & AddedFields, res: ServerResponse, next: () => void) => void;

interface Raw {
  readonly raw: object;
}

/**
 * Mounts the receiver before the app's own body parser, middleware, guards, interceptors, pipes and exception filters, which then do
 * not see its requests.
 *
 * @throws UsageError `option-invalid` for a `path` that no request can have
 */
export function mountFirst(adapter: HttpAdapterLike, receiver: Receiver, options: MountOptions): void {
  const mount = createNodeMount(receiver, options, ADVICE);
  const middleware: Middleware = (req, res, next) => {
    const url = req.originalUrl ?? req.url ?? "";
    if (!mount.isFor(url)) return next();
    void mount.serve({ req, res, url, original: req, earlierReads: [req.rawBody, req.body] });
  };
  const app = adapter.getInstance();
  if (app.use !== undefined) {
    adapter.use(middleware);
    return;
  }
  // Middleware support added later runs in a later hook.
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
