import type { IncomingMessage, ServerResponse } from "node:http";

/** Fields that frameworks (`originalUrl`) and parsers (`body`) add to Node's request. */
export interface AddedFields {
  readonly originalUrl?: string | undefined;
  readonly body?: unknown;
}

/** More than any change has: the rest is not read. */
const MAX_BYTES = 128 * 1024;

/** Node's request as a web-standard one. @param parsed its body, where a parser was first */
export async function toFetchRequest(req: IncomingMessage, url: URL, parsed: unknown): Promise<Request> {
  const { method = "GET" } = req;
  const headers = new Headers();
  for (const [name, value] of Object.entries(req.headers))
    if (value !== undefined && !name.startsWith(":")) headers.set(name, [value].flat().join(", "));
  const isPost = method === "POST";
  // `Request` refuses methods such as TRACE: those that are none of ours are one.
  return new Request(url, {
    method: ["GET", "HEAD", "POST"].includes(method) ? method : "PUT",
    headers,
    ...(isPost && { body: req.readableDidRead ? toText(parsed) : await read(req) }),
  });
}

async function read(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Too long to be read in full, and so to be JSON.
    if (bytes > MAX_BYTES) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function toText(parsed: unknown): string {
  return typeof parsed === "string"
    ? parsed
    : parsed instanceof Uint8Array
      ? Buffer.from(parsed).toString()
      : JSON.stringify(parsed ?? "");
}

/** Sends an answer; of headers that earlier middleware set, such as a policy, those of the answer replace their own. */
export async function answerNode(req: IncomingMessage, res: ServerResponse, answer: Response): Promise<void> {
  const text = await answer.text();
  if (res.headersSent || res.destroyed) return;
  for (const [name, value] of answer.headers) res.setHeader(name, value);
  res.setHeader("Content-Length", Buffer.byteLength(text));
  res.statusCode = answer.status;
  res.end(req.method === "HEAD" ? undefined : text);
}
