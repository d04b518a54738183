// A receiver in a Fastify app; all other routes, parsers and hooks are unchanged.
// Try it: SIGNING_SECRET=whsec node fastify.ts
// and then: SIGNING_SECRET=whsec npx hookline send email.created --to http://localhost:3000/webhooks/shop
import { fastify } from "fastify";
import { createReceiver } from "hookline";
import { fastifyReceiver } from "hookline/fastify";
import { sqliteInbox } from "hookline/sqlite";

const { SIGNING_SECRET: secret, PORT: port = 3000, INBOX: file = "inbox.db" } = process.env;
const receiver = createReceiver({ secret, inbox: sqliteInbox(file) });

receiver.on("email", (event, ctx) => console.log(`${ctx.source}: ${event.changeType} message ${event.id}`));

const app = fastify();
await app.register(fastifyReceiver(receiver, { path: "/webhooks/:app", source: (req) => req.params["app"] }));
app.get("/", () => receiver.stats());

await receiver.start();
await app.listen({ port: Number(port) });
console.log(`listening on http://localhost:${port}/webhooks/shop`);

process.once("SIGTERM", () => {
  setTimeout(() => app.server.closeAllConnections(), 5_000).unref();
  const closed = app.close().then(() => receiver.close());
  void closed.then(({ stuck }) => process.exit(stuck === 0 ? 0 : 1));
});
