import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";

/** A reply, or one of the two below that only a mount gives. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** For the one mount that has nobody to pass a foreign path to. */
export const FOREIGN_PATH: Answer = { status: 404, headers: {}, body: "" };

/** A receiver decides always; should one throw all the same, nothing was acknowledged and the delivery comes again. */
export const UNDECIDED: Answer = { status: 503, headers: { "Retry-After": "10" }, body: "" };

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
  if (!req.complete && !isHttp2) headers["Connection"] = "close";
  res.writeHead(answer.status, isHttp2 ? undefined : STATUS_CODES[answer.status], headers);
  if (!req.complete) return answerEarly(req, res, answer.body);
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
