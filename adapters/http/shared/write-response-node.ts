import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import type { Answer } from "./mount-responses.ts";

const DRAIN_BYTES = 64 * 1024;
const DRAIN_MS = 1_000;

/** Set before, they describe a body that somebody else meant to send. */
const OF_A_BODY: ReadonlySet<string> = new Set([
  "content-length",
  "content-type",
  "content-encoding",
  "transfer-encoding",
  "trailer",
  "etag",
  "last-modified",
]);

/**
 * Sends the answer as it was decided, whatever was set on the response before. A response that somebody sent already
 * and a connection that is gone are left alone.
 */
export function answerNode(req: IncomingMessage, res: ServerResponse, answer: Answer): void {
  if (res.headersSent || req.socket?.destroyed) {
    req.resume();
    return;
  }
  for (const name of res.getHeaderNames()) if (OF_A_BODY.has(name)) res.removeHeader(name);
  // Its length is said, not left to Node: where something before removed that header, Node would close the connection.
  const headers: Record<string, string> = {
    ...answer.headers,
    "Content-Length": String(Buffer.byteLength(answer.body)),
  };
  // HTTP/2 has neither a status message nor that header, and warns about both.
  const isHttp2 = req.httpVersionMajor >= 2;
  // A request without a connection, as frameworks make them for tests and for functions, only knows the latter.
  const isIn = req.complete || req.readableEnded;
  if (!isIn && !isHttp2) headers["Connection"] = "close";
  res.writeHead(answer.status, isHttp2 ? undefined : STATUS_CODES[answer.status], headers);
  if (!isIn) return answerEarly(req, res, answer.body);
  res.end(answer.body);
}

/**
 * The body is still coming. Closing now would reset the connection and may take the answer with it (RFC 9112,
 * section 9.6): so the answer goes out whole, a little is read away, and only then the connection ends.
 */
function answerEarly(req: IncomingMessage, res: ServerResponse, body: string): void {
  // Until it ends, whoever still writes to the response gets an error, and the client not one byte of it.
  res.strictContentLength = true;
  res.flushHeaders();
  if (body !== "") res.write(body);

  let left = DRAIN_BYTES;
  const onData = (chunk: Uint8Array): void => {
    left -= chunk.length;
    if (left < 0) cut();
  };
  const stop = (): void => {
    clearTimeout(timer);
    req.off("data", onData).off("end", onEnd).off("close", stop);
  };
  const onEnd = (): void => {
    stop();
    res.end();
  };
  const cut = (): void => {
    onEnd();
    res.destroy();
  };
  const timer = setTimeout(cut, DRAIN_MS);
  req.on("data", onData).on("end", onEnd).on("close", stop).resume();
}
