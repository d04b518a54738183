import type { IncomingMessage, ServerResponse } from "node:http";
import { askAccess, type DashboardOptions } from "./access.ts";
import { createDashboard, type DashboardDeps } from "./create-dashboard.ts";
import { answerNode, toFetchRequest, type AddedFields } from "./node-messages.ts";

interface Incoming<Req> {
  readonly original: Req;
  /** Below the path of the dashboard; "" without its slash. */
  readonly path: string;
  /** As it is before a router shortened it. */
  readonly shown: string;
  readonly toRequest: () => Request | Promise<Request>;
}

/** The dashboard at its path, for requests of any kind. */
export function createMount<Req>(deps: DashboardDeps, options: DashboardOptions<Req>) {
  const dashboard = createDashboard(deps);
  const base = (options.path ?? "").replace(/\/$/, "");
  return {
    /** Below the path of the dashboard; undefined for another path. */
    pathOf: (path: string) => (path === base || path.startsWith(`${base}/`) ? path.slice(base.length) : undefined),
    async serve({ original, path, shown, toRequest }: Incoming<Req>): Promise<Response> {
      const access = await askAccess(options, original, deps.log);
      // A router that strips its path gives "/" for it, with the slash and without.
      const isBare = (path === "" || path === "/") && !shown.endsWith("/");
      const redirect = isBare ? `${shown.slice(shown.lastIndexOf("/") + 1)}/` : undefined;
      return dashboard({ request: await toRequest(), path: path === "" ? "/" : path, redirect, access });
    },
  };
}

interface NodeIncoming<Req> {
  readonly req: Req;
  readonly res: ServerResponse;
  readonly path: string;
  /** What a framework keeps elsewhere than on Node's request. */
  readonly added?: AddedFields;
}

/** The same over `node:http`. */
export function createNodeMount<Req extends IncomingMessage>(deps: DashboardDeps, options: DashboardOptions<Req>) {
  const mount = createMount(deps, options);
  return {
    pathOf: ({ url }: Req) => mount.pathOf(toUrl(url).pathname),
    /** Never rejects. */
    async serve({ req, res, path, added = {} }: NodeIncoming<Req>): Promise<void> {
      const { originalUrl = added.originalUrl, body = added.body } = req as AddedFields;
      const shown = toUrl(originalUrl ?? req.url).pathname;
      const toRequest = () => toFetchRequest(req, toUrl(req.url), body);
      try {
        await answerNode(req, res, await mount.serve({ original: req, path, shown, toRequest }));
      } catch {
        // The client went away, or earlier middleware broke the response.
        res.destroy();
      }
    },
  };
}

/** A listener that answers 404 for what is of another path. */
export function dashboardListener<Req extends IncomingMessage>(deps: DashboardDeps, options: DashboardOptions<Req>) {
  const { pathOf, serve } = createNodeMount(deps, options);
  return (req: Req, res: ServerResponse): void => {
    const path = pathOf(req);
    if (path === undefined) res.writeHead(404).end();
    else void serve({ req, res, path });
  };
}

/** A proxy may send the whole URL in the request line. Two slashes at the beginning would be a host. */
function toUrl(url = "/"): URL {
  return new URL(url.replace(/^\/+/, "/"), "http://localhost");
}
