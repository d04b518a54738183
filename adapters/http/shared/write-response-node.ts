import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import type { Answer } from "./mount.ts";

const DRAIN_BYTES = 64 * 1024;
const DRAIN_MS = 1_000;

/** Headers that earlier middleware set for a body of its own. */
const BODY_HEADERS: ReadonlySet<string> = new Set([
  "content-length",
  "content-type",
  "content-encoding",
  "transfer-encoding",
  "trailer",
  "etag",
  "last-modified",
]);

/**
 * Sends exactly this answer, whatever earlier middleware set on the response. Does nothing if another response was
 * already sent, or the connection is closed; but a 200 that was only begun is cut off where this answer is none.
 */
export function writeResponseNode(req: IncomingMessage, res: ServerResponse, answer: Answer): void {
  if (res.headersSent || req.socket?.destroyed) {
    req.resume();
    // A 200 that earlier middleware began would acknowledge what was not stored.
    if (res.statusCode === 200 && answer.status !== 200 && !res.writableEnded) res.destroy();
    return;
  }
  for (const name of res.getHeaderNames()) if (BODY_HEADERS.has(name)) res.removeHeader(name);
  // Set explicitly: if earlier middleware removed this header, Node would close the connection.
  const headers: Record<string, string> = {
    ...answer.headers,
    "Content-Length": String(Buffer.byteLength(answer.body)),
  };
  // HTTP/2 has neither a status message nor a Connection header, and Node warns about both.
  const isHttp2 = req.httpVersionMajor >= 2;
  // Only `readableEnded` is set on requests without a connection, which frameworks make for tests and functions.
  const isRead = req.complete || req.readableEnded;
  if (!isRead && !isHttp2) headers["Connection"] = "close";
  res.writeHead(answer.status, isHttp2 ? undefined : STATUS_CODES[answer.status], headers);
  if (!isRead) return answerEarly(req, res, answer.body);
  res.end(answer.body);
}

/**
 * Answers while the body is still arriving. Closing at once would reset the connection and might lose the answer (RFC 9112, section
 * 9.6): so write the whole answer, drain a little, and only then end the connection.
 */
function answerEarly(req: IncomingMessage, res: ServerResponse, body: string): void {
  // Until the end, a write by other code throws, and the client gets none of it.
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
