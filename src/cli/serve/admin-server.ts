import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { prometheusMetrics } from "../../../adapters/observe/prometheus.ts";
import type { Receiver } from "../../index.ts";
import { listen, type Address } from "./listen.ts";

interface AdminServerOptions {
  /** Not started yet: its metrics count from now on. */
  readonly receiver: Receiver;
  /** Whether deliveries can reach the receiver at all. */
  readonly accepts: () => boolean;
}

/**
 * Serves `/livez`, `/readyz`, `/stats` and `/metrics`: to this machine alone, or to whoever reaches the given address. No content of
 * deliveries, no addresses.
 *
 * @throws CommandError when the address is not available
 */
export async function startAdminServer({ host, port }: Pick<Address, "host" | "port">, options: AdminServerOptions) {
  // A probe from another machine uses any name that leads here.
  const isAllowed = (name: string | undefined): boolean => !server.isLoopback || isLoopbackName(name);
  const server = await listen(adminListener(options, isAllowed), { host, port, prefix: "admin-" });
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

function adminListener(
  { receiver, accepts }: AdminServerOptions,
  isAllowed: (host: string | undefined) => boolean,
): RequestListener {
  const metrics = prometheusMetrics(receiver);
  async function answer({ headers, method, url = "" }: IncomingMessage, response: ServerResponse): Promise<void> {
    // DNS rebinding: a page of another site may have its name resolve to this machine.
    if (!isAllowed(headers.host)) return reply(response, 403, { error: "Only this machine may ask." });
    const [path] = url.split("?");
    if (path !== "/livez" && path !== "/readyz" && path !== "/stats" && path !== "/metrics")
      return reply(response, 404, { error: "Here are /livez, /readyz, /stats and /metrics." });
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

function isLoopbackName(host: string | undefined): boolean {
  return host !== undefined && /^(?:127(?:\.\d{1,3}){3}|localhost|\[::1\])(?::\d+)?$/i.test(host);
}

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
