// A receiver in a Hono app on your own server; all other routes are unchanged.
// Try it: SIGNING_SECRET=whsec node hono.ts
// and then: SIGNING_SECRET=whsec npx hookline send email.created --to http://localhost:3000/webhooks
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { createReceiver } from "hookline";
import { honoReceiver } from "hookline/hono";
import { sqliteInbox } from "hookline/sqlite";

const { SIGNING_SECRET: secret, PORT: port = 3000, INBOX: file = "inbox.db" } = process.env;
const receiver = createReceiver({ secret, inbox: sqliteInbox(file) });

receiver.on(["email.created", "email.updated"], (event, ctx) => {
  console.log(`account ${event.accountId}: ${event.changeType} message ${event.id}, attempt ${ctx.attempt}`);
});

const app = new Hono();
app.all("/webhooks", honoReceiver(receiver, { runtime: "long-lived" }));
app.get("/", (c) => c.json(receiver.stats()));

await receiver.start();
const server = serve({ fetch: app.fetch, port: Number(port) }, () => {
  console.log(`listening on http://localhost:${port}/webhooks`);
});

process.once("SIGTERM", () => {
  server.close(() => void receiver.close().then(({ stuck }) => process.exit(stuck === 0 ? 0 : 1)));
  if ("closeAllConnections" in server) setTimeout(() => server.closeAllConnections(), 5_000).unref(); // not HTTP/2
});
