import { once } from "node:events";
import http, { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import https from "node:https";
import { setImmediate as nextLoopTurn, setTimeout as sleep } from "node:timers/promises";
import { ANSWER_TIMEOUT } from "../answers/request-failure.ts";

/** One request. */
export interface Asked {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** Left out for a request without a body. */
  readonly body?: Uint8Array | undefined;
}

/** Its answer. */
export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Its first {@link MAX_BODY_BYTES}. */
  readonly body: string;
}

interface AskOptions {
  /** Longest wait for an answer, milliseconds. @default 10,000 */
  readonly limitMs?: number | undefined;
  /** How long a refusal by the headers alone may take, before more of a long body is sent, milliseconds. @default 200 */
  readonly earlyMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const MAX_BODY_BYTES = 65_536;
const CHUNK_BYTES = 32_768;

/**
 * Sends a request over a connection of its own, and follows no redirects. An answer counts even before the whole body is sent.
 * Rejects with Node's error, or with one of code `TIMEOUT`.
 */
export async function ask(
  url: string,
  asked: Asked,
  { limitMs = 10_000, earlyMs = 200, signal }: AskOptions = {},
): Promise<Answered> {
  const { request } = url.startsWith("https:") ? https : http;
  const { method, headers, body } = asked;
  const length = body === undefined || "Transfer-Encoding" in headers ? {} : { "Content-Length": body.byteLength };
  return new Promise((resolve, reject) => {
    const req = request(url, { method, headers: { ...length, ...headers }, agent: false, ...(signal && { signal }) });
    const timer = setTimeout(() => req.destroy(ANSWER_TIMEOUT), limitMs);
    req.on("close", () => clearTimeout(timer));
    req.on("error", reject);
    req.on("response", (res) => {
      // After the answer the rest of the body is not sent.
      void collect(res)
        .finally(() => req.destroy())
        .then(resolve, reject);
    });
    void sendBody(req, body ?? new Uint8Array(0), earlyMs);
  });
}

export async function collect(res: IncomingMessage): Promise<Answered> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of res as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    bytes += chunk.length;
    // An endless answer must not keep it waiting.
    if (bytes >= MAX_BODY_BYTES) break;
  }
  return { status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks).toString("utf8") };
}

/**
 * Pauses after the first chunk of a long body, and stops at an answer: a server that refuses early closes the connection, and
 * further writes would then lose its answer.
 */
async function sendBody(req: ClientRequest, body: Uint8Array, earlyMs: number): Promise<void> {
  const over = new AbortController();
  req.once("response", () => over.abort()).once("close", () => over.abort());
  const { signal } = over;
  let at = 0;
  for (; body.length - at > CHUNK_BYTES && !signal.aborted; at += CHUNK_BYTES) {
    const canContinue = req.write(body.subarray(at, at + CHUNK_BYTES));
    if (!canContinue) await once(req, "drain", { signal }).catch(() => {});
    // Lets an answer arrive in between.
    await (at === 0 ? sleep(earlyMs, undefined, { signal }).catch(() => {}) : nextLoopTurn());
  }
  if (!signal.aborted) req.end(body.subarray(at));
}
