import { once } from "node:events";
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, RequestOptions } from "node:http";
import { setImmediate as turnOfTheLoop, setTimeout as wait } from "node:timers/promises";

/** One request. */
export interface Asked {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** Left out, none is sent. */
  readonly body?: Uint8Array | undefined;
}

/** The whole of its answer. */
export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Its first {@link MOST_BYTES}. */
  readonly body: string;
}

/** How long it is asked. */
export interface AskLimits {
  /** Longest wait for an answer, milliseconds. @default 10,000 */
  readonly limitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const MOST_BYTES = 65_536;
const PIECE_BYTES = 32_768;
/** How long a refusal by the headers alone may take. */
const EARLY_MS = 200;

/**
 * Asks over a connection of its own; redirects are not followed. What answers before the body is in is heard.
 * Rejects with Node's error, or with one of code `TIMEOUT`.
 */
export async function ask(url: string, asked: Asked, { limitMs = 10_000, signal }: AskLimits = {}): Promise<Answered> {
  // Loaded when something is asked: an app that imports a mount has no use for it.
  const { request } = url.startsWith("https:") ? await import("node:https") : await import("node:http");
  const { method, headers, body } = asked;
  const length = body === undefined || "Transfer-Encoding" in headers ? {} : { "Content-Length": body.byteLength };
  const options: RequestOptions = {
    method,
    headers: { ...length, ...headers },
    agent: false,
    ...(signal && { signal }),
  };
  return new Promise((resolve, reject) => {
    const req = request(url, options);
    const timer = setTimeout(
      () => req.destroy(Object.assign(new Error("No answer in time."), { code: "TIMEOUT" })),
      limitMs,
    );
    req.on("close", () => clearTimeout(timer));
    req.on("error", reject);
    req.on("response", (res) => {
      // What is not sent by then, nobody wants.
      void collect(res)
        .finally(() => req.destroy())
        .then(resolve, reject);
    });
    void pour(req, body ?? new Uint8Array(0));
  });
}

/** Its status, its headers, and as much of its body as is wanted. */
export async function collect(res: IncomingMessage): Promise<Answered> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of res as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    bytes += chunk.length;
    // An answer without end must not be waited for.
    if (bytes >= MOST_BYTES) break;
  }
  return { status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks).toString("utf8") };
}

/**
 * A long body waits a little after its beginning for an answer, and is not sent on once there is one: who refuses early closes the
 * connection, and what is still written then takes the answer along.
 */
async function pour(req: ClientRequest, body: Uint8Array): Promise<void> {
  const over = new AbortController();
  req.once("response", () => over.abort()).once("close", () => over.abort());
  const { signal } = over;
  let at = 0;
  for (; body.length - at > PIECE_BYTES && !signal.aborted; at += PIECE_BYTES) {
    const taken = req.write(body.subarray(at, at + PIECE_BYTES));
    if (!taken) await once(req, "drain", { signal }).catch(() => {});
    // In between, what came back is read.
    await (at === 0 ? wait(EARLY_MS, undefined, { signal }).catch(() => {}) : turnOfTheLoop());
  }
  if (!signal.aborted) req.end(body.subarray(at));
}
