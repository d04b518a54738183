import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { pipeline, Readable } from "node:stream";
import type { Answer } from "./journal.ts";
import { guardedLookup } from "../subscriptions/notification-url.ts";

/** A request, ready to be sent. */
interface Outgoing {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** In pieces where it takes time. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
}

/** Sends requests. */
export interface Transport {
  /** Resolves with any answer, redirects included, which are not followed. Rejects where none came. */
  send(request: Outgoing): Promise<Answer>;
  close(): void;
}

/** Sends over sockets, which are kept for the next request. */
export function createHttpTransport({ allowRemote }: { readonly allowRemote: boolean }): Transport {
  const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };
  const lookup = allowRemote ? undefined : guardedLookup;
  return {
    send({ url, headers, body, signal }) {
      return new Promise((resolve, reject) => {
        const target = new URL(url);
        const isSecure = target.protocol === "https:";
        const length = body instanceof Uint8Array ? { "Content-Length": String(body.length) } : {};
        const request = (isSecure ? httpsRequest : httpRequest)(target, {
          method: "POST",
          headers: { ...headers, ...length },
          agent: isSecure ? agents.https : agents.http,
          signal,
          ...(lookup && { lookup }),
        });
        request.on("error", (error) => reject(signal.aborted ? (signal.reason as Error) : error));
        request.on("response", (response) => {
          readAnswer(response).then(resolve, reject);
        });
        if (body instanceof Uint8Array) request.end(body);
        else {
          request.flushHeaders();
          pipeline(Readable.from(body), request, (error) => error && reject(error));
        }
      });
    },
    close() {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

const MAX_ANSWER_BYTES = 65_536;

/** Read to its end, because the connection is lost otherwise; but not a body without end. */
async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= MAX_ANSWER_BYTES) break;
  }
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) headers[name] = String(value);
  return {
    status: response.statusCode ?? 0,
    headers,
    body: Buffer.concat(chunks).toString("utf8", 0, MAX_ANSWER_BYTES),
  };
}
