// The Fastify mount fits the real framework, with nothing but this package's structural types in between.
import {
  fastify,
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyReply,
  type FastifyRequest,
} from "fastify";
import { createReceiver, memoryInbox, type Receiver } from "hookline";
import { fastifyReceiver, type FastifyLike, type FastifyReplyLike, type FastifyRequestLike } from "hookline/fastify";
import type { Expect, Fits } from "./support.ts";

const receiver = createReceiver({ secret: process.env["SIGNING_SECRET"], inbox: memoryInbox() });
declare const network: Receiver<"network">;
declare const chance: boolean;

// As a value, for the app, below a prefix, in a plugin, over HTTP/2 and HTTPS.
const app = fastify();
export const plugin: FastifyPluginAsync = fastifyReceiver(receiver);
const made = fastifyReceiver(receiver, { path: chance ? "/webhooks" : undefined, source: undefined });
await app.register(made);
await app.register(made, { prefix: "/hooks" });
await app.register(fastifyReceiver(network, { source: "crm" })).register(made);
await app.register(async (inner) => {
  await inner.register(made);
});
await fastify({ logger: true }).register(made);
await fastify({ http2: true }).register(made);
await fastify({ https: {} }).register(made);

// `source` gets the request with its route's parameters, or what it says it wants.
await app.register(fastifyReceiver(receiver, { path: "/hooks/:app", source: (req) => req.params["app"] }));
await app.register(fastifyReceiver(receiver, { source: (req: FastifyRequest) => req.hostname }));
await app.register(fastifyReceiver(receiver, { path: "/hooks/:app", source: appOf }));

function appOf(req: FastifyRequest<{ Params: { app: string } }>): string {
  return req.params.app;
}

export type FastifyFits = [
  Expect<Fits<FastifyInstance, FastifyLike>>,
  Expect<Fits<FastifyRequest, FastifyRequestLike>>,
  Expect<Fits<FastifyReply, FastifyReplyLike>>,
];

// @ts-expect-error -- options are not the request's
fastifyReceiver(receiver, { source: (req) => req.query });
// @ts-expect-error -- a source is a text
fastifyReceiver(receiver, { source: () => 1 });
// @ts-expect-error -- a misspelt option
fastifyReceiver(receiver, { paths: "/webhooks" });
// @ts-expect-error -- a path is a text, not a pattern
fastifyReceiver(receiver, { path: /webhooks/ });
// @ts-expect-error -- a mount without a receiver
fastifyReceiver();
