// Several applications of the service on one server: the URL names the application, and each has its own signing secret.
// Try it: SIGNING_SECRET=whsec node multi-tenant.ts
// and then: SIGNING_SECRET=whsec npx hookline send email.created --to http://localhost:3000/webhooks/shop
import express from "express";
import { createReceiver } from "hookline";
import { expressReceiver } from "hookline/express";
import { sqliteInbox } from "hookline/sqlite";

const { SIGNING_SECRET, CRM_SIGNING_SECRET, PORT: port = 3000, INBOX: file = "inbox.db" } = process.env;
const secrets = new Map([
  ["shop", SIGNING_SECRET],
  ["crm", CRM_SIGNING_SECRET],
]);

const receiver = createReceiver({
  // May be asynchronous and query a database: the result is cached for a minute.
  secret: ({ source = "" }) => secrets.get(source),
  inbox: sqliteInbox(file),
});

receiver.on("email", (event, ctx) => console.log(`${ctx.source}: ${event.changeType} message ${event.id}`));

const app = express();
app.post("/webhooks/:tenant", expressReceiver(receiver, { source: ({ params: { tenant } }) => tenant }));

await receiver.start();
const server = app.listen(port, (error) => {
  if (error !== undefined) throw error;
  console.log(`listening on http://localhost:${port}/webhooks/shop`);
});

process.once("SIGTERM", () => {
  server.close(() => void receiver.close().then(({ stuck }) => process.exit(stuck === 0 ? 0 : 1)));
  setTimeout(() => server.closeAllConnections(), 5_000).unref();
});
