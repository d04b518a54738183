// The mount fits the real Hono, with nothing but this package's structural types in between.
import type { Context, Handler, MiddlewareHandler } from "hono";
import { Hono } from "hono";
import { createFactory } from "hono/factory";
import { createReceiver, memoryInbox, type Receiver } from "hookline";
import { honoReceiver, type HonoContextLike } from "hookline/hono";
import { sqliteInbox } from "hookline/sqlite";
import type { Expect, Fits } from "./support.ts";

const memory = createReceiver({ secret: process.env["SIGNING_SECRET"], inbox: memoryInbox() });
declare const network: Receiver<"network">;
declare const chance: boolean;

// As a value, for a path, a method, the whole app, an app of an app, with bindings and variables.
export const handler: Handler = honoReceiver(network);
export const middleware: MiddlewareHandler = honoReceiver(network);
const mount = honoReceiver(network, { path: chance ? "/webhooks" : undefined, source: undefined });
new Hono()
  .use(mount)
  .use("/webhooks/*", mount)
  .all("/webhooks", honoReceiver(network))
  .post("/webhooks/:tenant", honoReceiver(network, { source: (c) => c.req.param("tenant") }))
  .on(["POST", "GET"], "/both", mount);
const app = new Hono<{ Bindings: { SIGNING_SECRET: string }; Variables: { user: string } }>();
app.use(mount).post("/webhooks", mount).basePath("/api").all("/webhooks", mount);
export const made = createFactory().createHandlers(mount);
export type HonoFits = [
  Expect<Fits<Context, HonoContextLike>>,
  Expect<Fits<Context<{ Bindings: { SIGNING_SECRET: string } }, "/webhooks/:tenant">, HonoContextLike>>,
];

// What is stored here dies with a function: say that this is none, or answer after the handlers.
honoReceiver(memory, { runtime: "long-lived" });
honoReceiver(memory, { answer: "after-handlers", timeoutMs: 20_000, path: "/webhooks" });
// @ts-expect-error -- a memory inbox does not outlive the function
honoReceiver(memory);
// @ts-expect-error -- nor does a file
honoReceiver(createReceiver({ secret: "s", inbox: sqliteInbox("inbox.db") }), { path: "/webhooks" });
// @ts-expect-error -- a deadline belongs to it
honoReceiver(memory, { answer: "after-handlers" });
// @ts-expect-error -- there is no other answer
honoReceiver(memory, { answer: "at-once", timeoutMs: 1 });
// @ts-expect-error -- a source is a text
honoReceiver(network, { source: () => 1 });
// @ts-expect-error -- a misspelt option
honoReceiver(network, { paths: "/webhooks" });
