import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "../logger.ts";
import { createDashboard, type DashboardDeps, type DashboardRequest } from "./create-dashboard.ts";
import type { Access, DashboardOptions } from "./dashboard-options.ts";

interface Incoming<Req> extends Omit<DashboardRequest, "access" | "redirect"> {
  readonly original: Req;
  /** Its path as it was before a router shortened it. */
  readonly shown: string;
}

/** The dashboard at its path, for requests of any kind. */
export function createMount<Req>(deps: DashboardDeps, options: DashboardOptions<Req>) {
  const dashboard = createDashboard(deps);
  const base = (options.path ?? "").replace(/\/$/, "");
  return {
    /** Below the path of the dashboard, "" without its slash; undefined for another path. */
    pathOf: (path: string) => (path === base || path.startsWith(`${base}/`) ? path.slice(base.length) : undefined),
    async serve({ original, shown, path, ...request }: Incoming<Req>) {
      const access = await askAccess(options, original, deps.log);
      // A router that strips its path gives "/" for it, with the slash and without.
      const isBare = (path === "" || path === "/") && !shown.endsWith("/");
      const redirect = isBare ? `${shown.slice(shown.lastIndexOf("/") + 1)}/` : undefined;
      return dashboard({ ...request, path: path === "" ? "/" : path, redirect, access });
    },
  };
}

/** What a request may do. `undefined`: nothing. Never rejects. */
async function askAccess<Req>(
  { access }: DashboardOptions<Req>,
  request: Req,
  log: Pick<Logger, "error">,
): Promise<Access | undefined> {
  try {
    const given: unknown = await access(request);
    if (typeof given !== "object" || given === null) return undefined;
    const { content, change, who } = given as Access;
    return { content: content === true, change: change === true, who };
  } catch (error) {
    log.error({ err: error, code: "dashboard-access-failed" }, "`access` of the dashboard threw: the request got 403");
    return undefined;
  }
}

/** Fields that frameworks (`originalUrl`) and parsers (`body`) add to Node's request. */
export interface AddedFields {
  readonly originalUrl?: string | undefined;
  readonly body?: unknown;
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
      const { originalUrl = added.originalUrl, body: parsed = added.body } = req as AddedFields;
      const { method = "GET" } = req;
      const { search } = toUrl(req.url);
      const shown = toUrl(originalUrl ?? req.url).pathname;
      const header = (name: string) => req.headers[name]?.toString();
      const body = async () => (req.readableDidRead ? toText(parsed) : read(req));
      try {
        const answer = await mount.serve({ original: req, method, path, shown, search, header, body });
        if (res.headersSent || res.destroyed) return;
        // Of headers that earlier middleware set, such as a policy, those of the answer replace their own.
        for (const [name, value] of Object.entries(answer.headers)) res.setHeader(name, value);
        res.setHeader("Content-Length", Buffer.byteLength(answer.text));
        res.statusCode = answer.status;
        res.end(method === "HEAD" ? undefined : answer.text);
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
  // A request line may be anything: what is no URL is of no path here.
  return URL.parse(url.replace(/^\/+/, "/"), "http://localhost") ?? new URL("http://localhost");
}

/** More than any change has: the rest is not read. */
const MAX_BYTES = 128 * 1024;

async function read(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Too long to be read in full, and so to be JSON.
    if (bytes > MAX_BYTES) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** What a parser made of a body. */
function toText(parsed: unknown): string {
  if (parsed instanceof Uint8Array) return Buffer.from(parsed).toString();
  return typeof parsed === "string" ? parsed : JSON.stringify(parsed ?? "");
}
