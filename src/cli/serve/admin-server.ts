import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { prometheusMetrics } from "../../../adapters/observe/prometheus.ts";
import { dashboardListener } from "../../dashboard/mount.ts";
import { receiverSource } from "../../dashboard/source.ts";
import type { Logger, Receiver } from "../../index.ts";
import { isLoopbackName, listen, type Address } from "./listen.ts";

interface AdminServerOptions {
  /** Not started yet: its metrics count from now on. */
  readonly receiver: Receiver;
  /** Whether deliveries can reach the receiver at all. */
  readonly accepts: () => boolean;
  readonly log: Logger;
}

/** Of an open page, milliseconds. */
const REFRESH_MS = 2_000;

/**
 * Serves `/livez`, `/readyz`, `/stats` and `/metrics`: to this machine alone, or to whoever reaches the given address; and the dashboard at
 * `/ui` to this machine alone. No content of deliveries, no addresses.
 *
 * @throws CommandError when the address is not available
 */
export async function startAdminServer({ host, port }: Pick<Address, "host" | "port">, options: AdminServerOptions) {
  const isLoopback = (): boolean => server.isLoopback;
  const server = await listen(adminListener(options, isLoopback), { host, port, prefix: "admin-" });
  return {
    url: server.url,
    /** Open requests are cut off. */
    async close(): Promise<void> {
      const closed = server.close();
      server.closeConnections();
      await closed;
    },
  };
}

function adminListener({ receiver, accepts, log }: AdminServerOptions, isLoopback: () => boolean): RequestListener {
  const metrics = prometheusMetrics(receiver);
  // It asks for no password: only what is no content, no changes, and not for other machines.
  const dashboard = dashboardListener(
    { source: receiverSource(receiver), log, refreshMs: REFRESH_MS },
    { path: "/ui", access: () => ({}) },
  );
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers, method, url = "" } = request;
    // DNS rebinding: a page of another site may have its name resolve to this machine. A probe from another one uses any name.
    if (isLoopback() && !isLoopbackName(headers.host))
      return reply(response, 403, { error: "Only this machine may ask." });
    const [path] = url.split("?");
    if (path === "/ui" || path?.startsWith("/ui/") === true)
      return isLoopback() ? dashboard(request, response) : reply(response, 403, { error: NO_DASHBOARD });
    if (path !== "/livez" && path !== "/readyz" && path !== "/stats" && path !== "/metrics")
      return reply(response, 404, { error: "Here are /livez, /readyz, /stats, /metrics and /ui." });
    if (method !== "GET" && method !== "HEAD") {
      response.setHeader("Allow", "GET, HEAD");
      return reply(response, 405, { error: "Ask with GET or HEAD." });
    }
    if (path === "/metrics") {
      response.setHeader("Content-Type", metrics.contentType);
      return reply(response, 200, await metrics.text());
    }
    const own = await receiver.health();
    const health = { ...own, ready: own.ready && accepts() };
    const { live, ready } = health;
    if (path === "/livez") return reply(response, live ? 200 : 503, { live });
    if (path === "/readyz") return reply(response, ready ? 200 : 503, { ready });
    return reply(response, 200, { stats: receiver.stats(), health });
  }

  return (request, response) => void answer(request, response);
}

const NO_DASHBOARD =
  "The dashboard is here only where --admin-host is a loopback address: take `npx hookline inbox ui --inbox ...`.";

/** For HEAD, Node leaves the body out. */
function reply(response: ServerResponse, status: number, body: object | string): void {
  const text = typeof body === "string" ? body : `${JSON.stringify(body)}\n`;
  if (typeof body !== "string") response.setHeader("Content-Type", "application/json");
  response.writeHead(status, {
    "Content-Length": Buffer.byteLength(text),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
  });
  response.end(text);
}
