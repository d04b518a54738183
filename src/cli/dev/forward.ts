import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { buffer } from "node:stream/consumers";

/** A request, or an answer, as it came over the wire. */
interface Message {
  /** Names and values in turn, in their order and spelling. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** A request to be forwarded. */
export interface Forwarded extends Message {
  readonly method: string;
  /** Of its URL, with the question mark; byte for byte. */
  readonly search: string;
}

/** The app's answer. */
export interface AppAnswer extends Message {
  readonly status: number;
  readonly statusText: string;
}

/** Headers that are about one connection. `Expect` was answered on the one that it came on. @see RFC 9110, 7.6.1 */
const OF_CONNECTION = ["connection", "keep-alive", "proxy-connection", "te", "trailer", "upgrade", "expect"];

/**
 * Sends a request to the app over a connection of its own, with the same bytes and headers; only `Host` is the app's. Rejects with Node's error.
 *
 * @param to the app's route: its path counts, and the query of the request
 */
export function forward(request: Forwarded, to: URL, signal: AbortSignal): Promise<AppAnswer> {
  const { method, search, body } = request;
  const headers = headersWithout(request, ["host"]);
  if (!has(headers, "content-length") && !has(headers, "transfer-encoding")) headers.push("Content-Length", "0");
  const send = to.protocol === "https:" ? https.request : http.request;
  const options = { method, path: to.pathname + search, headers: ["Host", to.host, ...headers], agent: false, signal };
  return new Promise((resolve, reject) => {
    const sent = send(to, options, (response) => {
      void toAnswer(response, method).then(resolve, reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

async function toAnswer(response: IncomingMessage, method: string): Promise<AppAnswer> {
  const { statusCode: status = 0, statusMessage = "", rawHeaders } = response;
  const body = await buffer(response);
  const headers = headersWithout({ rawHeaders }, ["transfer-encoding"]);
  // A client of HTTP/1.0 reads no chunks.
  const hasBody = method !== "HEAD" && status !== 204 && status !== 304;
  if (hasBody && !has(headers, "content-length")) headers.push("Content-Length", String(body.length));
  return { status, statusText: statusMessage, rawHeaders: headers, body };
}

/** Without those of the connection, which may name others, and without some more. */
function headersWithout({ rawHeaders }: Pick<Message, "rawHeaders">, more: readonly string[]): string[] {
  const pairs = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ""] as const] : []));
  const named = pairs.flatMap(([name, value]) => (name.toLowerCase() === "connection" ? value.split(",") : []));
  const without = new Set([...OF_CONNECTION, ...more, ...named.map((name) => name.trim().toLowerCase())]);
  return pairs.flatMap(([name, value]) => (without.has(name.toLowerCase()) ? [] : [name, value]));
}

function has(rawHeaders: readonly string[], name: string): boolean {
  return rawHeaders.some((text, at) => at % 2 === 0 && text.toLowerCase() === name);
}
