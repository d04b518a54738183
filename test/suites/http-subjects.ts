import type { RawRequest, Reply } from "hookline";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { HttpLacks, HttpSubject, ProbedApp } from "./http/http-subject.ts";

/** A mount over `node:http`, served in this process. */
export function inProcess(listen: (app: ProbedApp) => RequestListener, rest: Partial<HttpSubject> = {}): HttpSubject {
  return {
    async serve(app) {
      const server = createServer(listen(app)).listen(0, "127.0.0.1");
      await once(server, "listening");
      return {
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
        close() {
          server.close();
          server.closeAllConnections();
        },
      };
    },
    ...rest,
  };
}

/** What a small mount does, each step of which a test can spoil. */
export interface Steps {
  read(req: IncomingMessage): Promise<Uint8Array>;
  urlOf(req: IncomingMessage): string;
  isFor(path: string, own: string): boolean;
  headersOf(req: IncomingMessage): RawRequest["headers"];
  receive(app: ProbedApp, raw: RawRequest): Promise<Pick<Reply, "headers" | "body"> & { readonly status: number }>;
  answer(res: ServerResponse, reply: Pick<Reply, "headers" | "body"> & { readonly status: number }): void;
}

/** A mount by hand over `node:http`: short, right, and without the finer points of `hookline/node`. */
export function byHand(spoilt: Partial<Steps> = {}, lacks: HttpLacks = BY_HAND): HttpSubject {
  const steps: Steps = { ...STEPS, ...spoilt };
  return inProcess(
    (app) => (req, res) => {
      const url = steps.urlOf(req);
      if (app.options.path !== undefined && !steps.isFor(url.split("?")[0] ?? "", app.options.path)) {
        res.writeHead(404).end();
        return;
      }
      const { source } = app.options;
      const raw = {
        method: req.method ?? "",
        url,
        headers: steps.headersOf(req),
        body: () => steps.read(req),
        ...(source === undefined ? {} : { source }),
      };
      steps.receive(app, raw).then(
        (reply) => steps.answer(res, reply),
        () => res.writeHead(503, { "Retry-After": "10" }).end(),
      );
    },
    { lacks },
  );
}

const BY_HAND: HttpLacks = { longBodies: "this one counts no bytes", streams: "this one reads whole bodies" };

export const STEPS: Steps = {
  async read(req) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of req as AsyncIterable<Uint8Array>) chunks.push(chunk);
    return Buffer.concat(chunks);
  },
  urlOf: (req) => req.url ?? "",
  isFor: (path, own) => path === own,
  headersOf: (req) => req.headers,
  receive(app, raw) {
    const { answer, timeoutMs = 0 } = app.options;
    return app.receiver.receive(raw, answer && { answer, timeoutMs });
  },
  answer: (res, { status, headers, body }) => void res.writeHead(status, headers).end(body),
};
