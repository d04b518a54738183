import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import type { LookupFunction } from "node:net";

/** What an app answered. */
export interface AppAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

export interface AppClient {
  /** Resolves with the answer when it has come to its end. Follows no redirects. Rejects with Node's error, or the signal's. */
  post(headers: Readonly<Record<string, string>>, body: string, signal: AbortSignal): Promise<AppAnswer>;
  /** Ends idle connections. */
  close(): void;
}

interface AppClientOptions {
  readonly url: string;
  /** At most so many connections, which stay open for the next request. */
  readonly connections: number;
  readonly lookup: LookupFunction | undefined;
}

interface AppRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/** Only the status counts: of a longer answer the rest is not read, and its connection ends. */
const MOST_ANSWER_BYTES = 65_536;

export function createAppClient({ url, connections, lookup }: AppClientOptions): AppClient {
  const { Agent, request } = url.startsWith("https:") ? https : http;
  const agent = new Agent({ keepAlive: true, maxSockets: connections });

  function send(given: AppRequest, agentOfTry: typeof agent | false): Promise<AppAnswer> {
    const { headers, body, signal } = given;
    return new Promise((resolve, reject) => {
      let hasAnswer = false;
      const req = request(url, { method: "POST", agent: agentOfTry, headers, signal, ...(lookup && { lookup }) });
      req.on("response", (res) => {
        hasAnswer = true;
        readToEnd(res).then(resolve, reject);
      });
      req.on("error", (error) => {
        // The app closed an idle connection just then, so that the request did not arrive, or failed because of it: once, over a new connection.
        if (req.reusedSocket && !hasAnswer && isClosed(error)) resolve(send(given, false));
        else reject(error);
      });
      // Such as after an unasked change of the protocol.
      req.on("close", () => hasAnswer || reject(Object.assign(new Error("Closed."), { code: "ECONNRESET" })));
      req.end(body);
    });
  }

  return { post: (headers, body, signal) => send({ headers, body, signal }, agent), close: () => agent.destroy() };
}

/** An answer that is cut off is none: the app may have failed half-way. */
async function readToEnd(res: IncomingMessage): Promise<AppAnswer> {
  let bytes = 0;
  for await (const chunk of res as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > MOST_ANSWER_BYTES) break;
  }
  return { status: res.statusCode ?? 0, retryAfter: res.headers["retry-after"] };
}

function isClosed({ code }: NodeJS.ErrnoException): boolean {
  return code === "ECONNRESET" || code === "EPIPE";
}
