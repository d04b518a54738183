// The mounts fit the real frameworks, with nothing but this package's structural types in between.
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { bodyParser } from "@koa/bodyparser";
import { Router } from "@koa/router";
import express5 from "express";
import express4 from "express4";
import { createReceiver, memoryInbox, type Receiver } from "hookline";
import { expressReceiver, keepRawBody, type ExpressRequestLike, type ExpressResponseLike } from "hookline/express";
import { koaReceiver, type KoaContextLike } from "hookline/koa";
import { nodeReceiver } from "hookline/node";
import Koa3 from "koa";
import Koa2 from "koa2";
import type { Equal, Expect, Fits } from "./support.ts";

const receiver = createReceiver({ secret: process.env["SIGNING_SECRET"], inbox: memoryInbox() });
declare const chance: boolean;

// Express 5: as a value, in a route, behind a prefix, in a router, for the whole app.
const app5 = express5();
export const handler5: express5.RequestHandler = expressReceiver(receiver);
export const narrow5: express5.RequestHandler<{ tenant: string }> = expressReceiver(receiver, {
  source: (req) => req.params.tenant,
});
const made = expressReceiver(receiver);
app5.post("/webhooks", expressReceiver(receiver));
app5.post("/webhooks", made);
app5
  .use(made)
  .use("/hooks", made)
  .use(expressReceiver(receiver, { path: "/webhooks" }));
app5.use("/hooks", expressReceiver(receiver, { path: chance ? "/hooks/mail" : undefined, source: undefined }));
app5.all(/hooks/, express5.raw(), expressReceiver(receiver), (_req, res) => void res.sendStatus(404));
app5.route("/webhooks").post(expressReceiver(receiver, { source: "crm" }));
express5.Router().post("/webhooks", expressReceiver(receiver)).use(expressReceiver(receiver)).use(made);
app5.use(express5.json({ verify: keepRawBody }), express5.urlencoded({ verify: keepRawBody }));

// `source` gets the request of the route it stands in, or what it says it wants.
app5.post("/webhooks/:tenant", expressReceiver(receiver, { source: (req) => req.params["tenant"] }));
app5.post("/webhooks/:tenant", expressReceiver(receiver, { source: (req: express5.Request) => req.hostname }));
app5.post("/webhooks/:tenant", expressReceiver<express5.Request<{ tenant: string }>>(receiver, { source: tenantOf }));
const byTenant = expressReceiver(receiver, { source: (req) => req.params["tenant"] });
app5.post("/webhooks/:tenant", byTenant);

function tenantOf(req: express5.Request<{ tenant: string }>): string {
  return req.params.tenant;
}

// Express 4: the same.
const app4 = express4();
export const handler4: express4.RequestHandler = expressReceiver(receiver);
app4.post("/webhooks", expressReceiver(receiver));
app4.post("/webhooks", made);
app4
  .use(made)
  .use("/hooks", made)
  .use(expressReceiver(receiver, { path: "/webhooks" }));
app4.route("/webhooks").post(expressReceiver(receiver, { source: "crm" }));
express4.Router().post("/webhooks", expressReceiver(receiver)).use(expressReceiver(receiver)).use(made);
app4.use(express4.json({ verify: keepRawBody }));
app4.post("/webhooks/:tenant", expressReceiver(receiver, { source: (req) => req.params["tenant"] }));
app4.post("/webhooks/:tenant", expressReceiver(receiver, { source: (req: express4.Request) => req.hostname }));
app4.post("/webhooks/:tenant", byTenant);

export type ExpressFits = [
  Expect<Fits<express5.Request, ExpressRequestLike>>,
  Expect<Fits<express4.Request, ExpressRequestLike>>,
  Expect<Fits<express5.Response, ExpressResponseLike>>,
  Expect<Fits<express4.Response, ExpressResponseLike>>,
  Expect<Fits<IncomingMessage, ExpressRequestLike>>,
  Expect<Fits<ServerResponse, ExpressResponseLike>>,
  // What it gives back ends there: nothing to wait for, nothing that Express takes for a promise.
  Expect<Equal<ReturnType<typeof made>, void>>,
];

// Koa 3 and 2: as a value, for the app, in a router.
export const middleware3: Koa3.Middleware = koaReceiver(receiver);
export const middleware2: Koa2.Middleware = koaReceiver(receiver);
const koa = koaReceiver(receiver, { path: chance ? "/webhooks" : undefined, source: (ctx) => ctx.params?.["tenant"] });
// The app keeps its type: a mount asks its context for nothing.
export const app3: Koa3 = new Koa3().use(koaReceiver(receiver)).use(koa);
new Koa3().use(bodyParser()).use(koaReceiver(receiver));
export const app2: Koa2 = new Koa2().use(koaReceiver(receiver)).use(koa);
new Koa3<{ user: string }, { db: object }>().use(koa);
new Router()
  .post("/webhooks", koaReceiver(receiver, { source: "crm" }))
  .post("/webhooks/:tenant", koa)
  .use(koa);
export type KoaFits = [
  Expect<Fits<Koa3.Context, KoaContextLike>>,
  Expect<Fits<Koa2.Context, KoaContextLike>>,
  Expect<Fits<typeof koa, (ctx: KoaContextLike, next: () => Promise<unknown>) => Promise<void>>>,
];

// Node.
export const listener: RequestListener = nodeReceiver(receiver);
createServer(nodeReceiver(receiver, { path: "/webhooks", source: (req) => req.headers.host }));
createServer().on("request", nodeReceiver(receiver, { path: chance ? "/webhooks" : undefined, source: undefined }));

// Every receiver has a mount, wherever it keeps.
declare const network: Receiver<"network">;
expressReceiver(network);
koaReceiver(network);
nodeReceiver(network);

// @ts-expect-error -- options are not the request's
nodeReceiver(receiver, { source: (req) => req.params });
// @ts-expect-error -- a source is a text
expressReceiver(receiver, { source: () => 1 });
// @ts-expect-error -- a misspelt option
koaReceiver(receiver, { paths: "/webhooks" });
// @ts-expect-error -- a path is a text, not a pattern
expressReceiver(receiver, { path: /webhooks/ });
// @ts-expect-error -- a mount without a receiver
expressReceiver();
