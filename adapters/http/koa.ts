// oxlint-disable typescript/no-unnecessary-type-parameters -- `app.use` returns an app of another type if a middleware has its own context type
import type { IncomingMessage, ServerResponse } from "node:http";
import type { MountOptions } from "../../src/adapter.ts";
import type { Receiver } from "../../src/index.ts";
import { createNodeMount, type AddedFields, type Advice } from "./shared/mount-node.ts";
import { assertMountOptions } from "./shared/mount.ts";

/** The used fields of a Koa context, 2 or 3. */
export interface KoaContextLike {
  req: object;
  res: object;
  request: { method: string; url: string; body?: unknown; rawBody?: string | undefined };
  /** The URL before any router shortened it. */
  originalUrl?: string | undefined;
  status: number;
  body: unknown;
  respond?: boolean | undefined;
  params?: Record<string, string> | undefined;
}

/**
 * The receiver as Koa middleware. With `options.path` other paths go on to the next middleware. The answer is written
 * directly to Node's response, so that neither Koa's defaults nor other middleware can change it.
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
    const [req, res] = [ctx.req, ctx.res] as [IncomingMessage & AddedFields, ServerResponse];
    await mount.serve({
      req,
      res,
      url,
      original: ctx,
      earlierReads: [ctx.request.rawBody, req.rawBody, ctx.request.body, req.body],
    });
  };
}

const ADVICE: Advice = {
  consumed:
    'Move `app.use(koaReceiver(receiver, { path: "/webhooks" }))` above `app.use(bodyParser())`; where that cannot be, take a parser that keeps the text in `ctx.request.rawBody`, as @koa/bodyparser does.',
  parsedBefore:
    'Move `app.use(koaReceiver(receiver, { path: "/webhooks" }))` above `app.use(bodyParser())`: a parser refuses on its own what is over its limit, 1 MB by default.',
};
