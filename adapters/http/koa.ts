// oxlint-disable typescript/no-unnecessary-type-parameters -- `app.use` gives back an app of another type where a middleware asks for a context of its own
import type { IncomingMessage, ServerResponse } from "node:http";
import type { MountOptions } from "../../src/adapter.ts";
import type { Receiver } from "../../src/index.ts";
import { createNodeMount, type Added, type Advice } from "./shared/mount-node.ts";
import { assertMountOptions } from "./shared/mount-options.ts";

/** What is used of a Koa context, 2 or 3. */
export interface KoaContextLike {
  req: object;
  res: object;
  request: { method: string; url: string; body?: unknown; rawBody?: string | undefined };
  /** The URL before a router cut something off it. */
  originalUrl?: string | undefined;
  status: number;
  body: unknown;
  respond?: boolean | undefined;
  params?: Record<string, string> | undefined;
}

/**
 * The receiver as Koa middleware. With `options.path` other paths go on to the next middleware. The answer is written
 * to Node's response, past Koa, so that neither a default of Koa nor middleware around the mount can change it.
 *
 * @example
 * app.use(koaReceiver(receiver, { path: "/webhooks" })); // above app.use(bodyParser())
 * @throws UsageError `option-invalid` for a `path` that no request can have
 */
export function koaReceiver(
  receiver: Receiver,
  options: MountOptions<KoaContextLike> = {},
): <Ctx extends KoaContextLike>(ctx: Ctx, next: () => Promise<unknown>) => Promise<void> {
  assertMountOptions("koaReceiver", options);
  const mount = createNodeMount(receiver, options, ADVICE);
  return async (ctx, next) => {
    const url = ctx.originalUrl ?? ctx.request.url;
    if (!mount.isFor(url)) {
      await next();
      return;
    }
    ctx.respond = false;
    const [req, res] = [ctx.req, ctx.res] as [IncomingMessage & Added, ServerResponse];
    await mount.serve({
      req,
      res,
      url,
      request: ctx,
      left: [ctx.request.rawBody, req.rawBody, ctx.request.body, req.body],
    });
  };
}

const ADVICE: Advice = {
  consumed:
    'Move `app.use(koaReceiver(receiver, { path: "/webhooks" }))` above `app.use(bodyParser())`; where that cannot be, take a parser that keeps the text in `ctx.request.rawBody`, as @koa/bodyparser does.',
  parsedBefore:
    'Move `app.use(koaReceiver(receiver, { path: "/webhooks" }))` above `app.use(bodyParser())`: a parser refuses on its own what is over its limit, 1 MB by default.',
};
