import type { RequestListener } from "node:http";
import { expressReceiver } from "../../../adapters/http/express.ts";
import { fastifyReceiver } from "../../../adapters/http/fastify.ts";
import { gcpReceiver } from "../../../adapters/http/gcp.ts";
import { honoReceiver } from "../../../adapters/http/hono.ts";
import { koaReceiver } from "../../../adapters/http/koa.ts";
import { mountFirst } from "../../../adapters/http/nest/nest-mount.ts";
import { nodeReceiver } from "../../../adapters/http/node.ts";
import type { Receiver } from "../../../src/index.ts";

const path = "/webhooks";

/** The mounts, each as a listener of `node:http`. A process loads only the framework that it measures. */
export const MOUNTS: Readonly<Record<string, (receiver: Receiver) => RequestListener | Promise<RequestListener>>> = {
  node: (receiver) => nodeReceiver(receiver, { path }),

  async express(receiver) {
    const { default: express } = await import("express");
    return express().post(path, expressReceiver(receiver));
  },

  async koa(receiver) {
    const { default: Koa } = await import("koa");
    const handle = new Koa().use(koaReceiver(receiver, { path })).callback();
    return (req, res) => void handle(req, res);
  },

  async fastify(receiver) {
    const { fastify } = await import("fastify");
    const app = fastify();
    await app.register(fastifyReceiver(receiver, { path }));
    await app.ready();
    return (req, res) => app.routing(req, res);
  },

  async hono(receiver) {
    const [{ Hono }, { getRequestListener }] = await Promise.all([import("hono"), import("@hono/node-server")]);
    const app = new Hono().post(path, honoReceiver(receiver, { runtime: "long-lived" }));
    const handle = getRequestListener(app.fetch);
    return (req, res) => void handle(req, res);
  },

  // Mounted as the Nest module does it; the module itself would also call start(), without handlers.
  async nest(receiver) {
    const { toNestListener } = await import("./nest.ts");
    return toNestListener({ prepare: (app) => mountFirst(app.getHttpAdapter(), receiver, { path }) });
  },

  async gcp(receiver) {
    const { toFunctionListener } = await import("./gcp.ts");
    // The bench ignores that a function needs an inbox that outlives it.
    return toFunctionListener(gcpReceiver(receiver as Receiver<"network">));
  },
};
