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
  /** Ends it. Without one it takes as long as it takes, at most until `close`. */
  readonly signal?: AbortSignal;
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
  const lookup = allowRemote ? {} : { lookup: guardedLookup };
  return {
    send({ url, headers, body, signal }) {
      return new Promise((resolve, reject) => {
        const target = new URL(url);
        const isSecure = target.protocol === "https:";
        const isWhole = body instanceof Uint8Array;
        const request = (isSecure ? httpsRequest : httpRequest)(target, {
          method: "POST",
          headers: isWhole ? { ...headers, "Content-Length": String(body.length) } : headers,
          agent: isSecure ? agents.https : agents.http,
          ...lookup,
        });
        // Not its own `signal` option, which costs a fifth of all that a request costs here.
        const abort = (): void => void request.destroy(signal?.reason as Error);
        signal?.addEventListener("abort", abort);
        const ended = (): void => signal?.removeEventListener("abort", abort);
        const fail = (error: Error): void => {
          ended();
          reject(error);
        };
        request.on("error", fail);
        request.on("response", (response) => {
          readAnswer(response, (answer) => (ended(), resolve(answer)), fail);
        });
        if (isWhole) request.end(body);
        else {
          request.flushHeaders();
          pipeline(Readable.from(body), request, (error) => error && fail(error));
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
function readAnswer(response: IncomingMessage, done: (answer: Answer) => void, fail: (error: Error) => void): void {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const end = (): void => {
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(response.headers)) headers[name] = String(value);
    const body = chunks.length === 0 ? "" : Buffer.concat(chunks).toString("utf8", 0, MAX_ANSWER_BYTES);
    done({ status: response.statusCode ?? 0, headers, body });
  };
  response.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes < MAX_ANSWER_BYTES) return;
    end();
    response.destroy();
  });
  response.on("end", end);
  response.on("error", fail);
}
