import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Receiver } from "../../index.ts";
import type { Address } from "./listen-error.ts";
import { listen } from "./listen.ts";

/** A server of its own beside a receiver's. */
export interface Admin {
  readonly url: string;
  /** Whoever still asks is cut off. */
  end(): Promise<void>;
}

/** What it tells of: `accepts` says whether deliveries can reach the receiver at all. */
export interface AdminOf {
  readonly receiver: Pick<Receiver, "health" | "stats">;
  readonly accepts: () => boolean;
}

/**
 * Tells probes and people how a receiver stands: those on this machine, or whoever reaches the address that was asked for. No
 * content of deliveries, no addresses.
 *
 * @throws CommandError when the address cannot be had
 */
export async function startAdmin({ host, port }: Pick<Address, "host" | "port">, of: AdminOf): Promise<Admin> {
  // Who probes from elsewhere uses whatever name leads here.
  const isAllowed = (name: string | undefined): boolean => !server.isLoopback || isOfThisMachine(name);
  const server = await listen(adminListener(of, isAllowed), { host, port, prefix: "admin-" });
  return {
    url: server.url,
    async end() {
      const closed = server.close();
      server.cut();
      await closed;
    },
  };
}

function adminListener(
  { receiver, accepts }: AdminOf,
  isAllowed: (host: string | undefined) => boolean,
): RequestListener {
  async function answer({ headers, method, url = "" }: IncomingMessage, response: ServerResponse): Promise<void> {
    // A page of another site may have its name resolve to this machine.
    if (!isAllowed(headers.host)) return reply(response, 403, { error: "This is told to this machine alone." });
    const [path] = url.split("?");
    if (path !== "/livez" && path !== "/readyz" && path !== "/stats")
      return reply(response, 404, { error: "Here are /livez, /readyz and /stats." });
    if (method !== "GET" && method !== "HEAD") {
      response.setHeader("Allow", "GET, HEAD");
      return reply(response, 405, { error: "Ask with GET or HEAD." });
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

function isOfThisMachine(host: string | undefined): boolean {
  return host !== undefined && /^(?:127(?:\.\d{1,3}){3}|localhost|\[::1\])(?::\d+)?$/i.test(host);
}

/** For HEAD, Node leaves the body out. */
function reply(response: ServerResponse, status: number, body: object): void {
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(text),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
  });
  response.end(text);
}
