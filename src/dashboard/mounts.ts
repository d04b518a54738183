import type { IncomingMessage, ServerResponse } from "node:http";
import { UsageError, type Receiver } from "../index.ts";
import { internalsOf } from "../receiver/internals.ts";
import { functionPlatform } from "../receiver/serverless.ts";
import { assertDashboardOptions, type DashboardOptions } from "./dashboard-options.ts";
import type { DashboardDeps } from "./create-dashboard.ts";
import { createMount, createNodeMount, dashboardListener, type AddedFields } from "./mount.ts";
import { isOwnPath } from "./page-files.ts";
import { receiverSource } from "./source.ts";

/**
 * The dashboard as a function from a web-standard Request to a Response, for Hono and others. A request for another path than that of
 * `options.path`, and below it, is answered 404.
 *
 * @example
 * app.all("/admin/hooks/*", (c) => dashboard(c.req.raw)); // const dashboard = fetchDashboard(receiver, { path: "/admin/hooks", access })
 * @throws UsageError `dashboard-access-missing`, `option-invalid`, `receiver-invalid`; `inbox-cannot-work` where nothing can be looked at
 */
export function fetchDashboard(
  receiver: Receiver,
  options: DashboardOptions<Request>,
): (request: Request) => Promise<Response> {
  const { serve, pathOf } = createMount(receiverDeps("fetchDashboard", receiver, options), options);
  return async (request) => {
    const { pathname: shown, search, host } = new URL(request.url);
    const { method, headers } = request;
    const path = pathOf(shown);
    if (path === undefined) return new Response(null, { status: 404 });
    const header = (name: string) => headers.get(name) ?? (name === "host" ? host : undefined);
    const body = () => request.text();
    const {
      status,
      headers: own,
      text,
    } = await serve({ original: request, method, path, shown, search, header, body });
    return new Response(method === "HEAD" ? null : text, { status, headers: own });
  };
}

/**
 * The dashboard as a listener of `node:http`. A request for another path than that of `options.path`, and below it, is answered 404.
 *
 * @example
 * createServer(nodeDashboard(receiver, { access: (req) => (isAdmin(req) ? { change: true } : undefined) })).listen(3002, "127.0.0.1");
 * @throws UsageError as `fetchDashboard`
 */
export function nodeDashboard<Req extends IncomingMessage = IncomingMessage>(
  receiver: Receiver,
  options: DashboardOptions<Req>,
): (req: Req, res: ServerResponse) => void {
  return dashboardListener(receiverDeps("nodeDashboard", receiver, options), options);
}

/**
 * The dashboard as an Express handler: `app.use` strips its path. With `options.path` other paths go on to the next handler.
 *
 * @example
 * app.use("/admin/hooks", expressDashboard(receiver, { access: (req) => (req.session.isAdmin ? { change: true } : undefined) }));
 * @throws UsageError as `fetchDashboard`
 */
export function expressDashboard<Req extends IncomingMessage = IncomingMessage>(
  receiver: Receiver,
  options: DashboardOptions<Req>,
): (req: Req, res: ServerResponse, next?: (error?: unknown) => void) => void {
  const { pathOf, serve } = createNodeMount(receiverDeps("expressDashboard", receiver, options), options);
  return (req, res, next) => {
    const path = pathOf(req);
    if (next !== undefined && (path === undefined || !isOwnPath(path))) next();
    else void serve({ req, res, path: path ?? "/" });
  };
}

/**
 * The dashboard as Koa middleware. Other paths than `options.path`, and below it, go on to the next middleware.
 *
 * @example
 * app.use(koaDashboard(receiver, { path: "/admin/hooks", access: (req) => (isAdmin(req) ? { change: true } : undefined) }));
 * @throws UsageError as `fetchDashboard`
 */
export function koaDashboard(
  receiver: Receiver,
  options: DashboardOptions<IncomingMessage>,
): (
  ctx: { req: IncomingMessage; res: ServerResponse; respond?: boolean; originalUrl?: string; request?: object },
  next: () => Promise<unknown>,
) => Promise<void> {
  const { pathOf, serve } = createNodeMount(receiverDeps("koaDashboard", receiver, options), options);
  return async (ctx, next) => {
    const path = pathOf(ctx.req);
    if (path === undefined || !isOwnPath(path)) {
      await next();
      return;
    }
    ctx.respond = false;
    const { body } = (ctx.request ?? {}) as AddedFields;
    await serve({ req: ctx.req, res: ctx.res, path, added: { originalUrl: ctx.originalUrl, body } });
  };
}

function receiverDeps(where: string, receiver: Receiver, options: DashboardOptions<never>): DashboardDeps {
  const { refreshMs } = assertDashboardOptions(where, options);
  const { workers, log, everyLine } = internalsOf(receiver);
  const platform = functionPlatform(process.env, navigator.userAgent);
  if (workers === undefined || platform !== undefined)
    throw new UsageError(
      "inbox-cannot-work",
      platform === undefined
        ? `${where} got a receiver that only forwards deliveries: there are no jobs to look at.`
        : `${where} is on ${platform}, where a process ends after its answer: a replay would not go on.`,
      { fix: "Mount it in the process that works: behind the queue, or on the inbox." },
    );
  return {
    source: receiverSource(receiver),
    log: { debug: everyLine.debug, info: everyLine.info, warn: log.warn, error: log.error },
    refreshMs,
  };
}
