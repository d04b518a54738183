// A receiver in an Express app, above its body parser; all other routes are unchanged.
// Try it: SIGNING_SECRET=whsec node express.ts
// and then: SIGNING_SECRET=whsec npx hookline send email.created --to http://localhost:3000/webhooks
import express from "express";
import { createReceiver } from "hookline";
import { expressReceiver } from "hookline/express";
import { sqliteInbox } from "hookline/sqlite";

const { SIGNING_SECRET: secret, PORT: port = 3000, INBOX: file = "inbox.db" } = process.env;
const receiver = createReceiver({ secret, inbox: sqliteInbox(file) });

receiver.on(["email.created", "email.updated"], (event, ctx) => {
  console.log(`account ${event.accountId}: ${event.changeType} message ${event.id}, attempt ${ctx.attempt}`);
});
receiver.on("email.deleted", (event) => {
  console.log(`account ${event.accountId}: look whether message ${event.id} is gone`);
});

const app = express();
app.post("/webhooks", expressReceiver(receiver));
app.use(express.json());
app.get("/", (_req, res) => void res.json(receiver.stats()));

await receiver.start();
const server = app.listen(port, (error) => {
  if (error !== undefined) throw error;
  console.log(`listening on http://localhost:${port}/webhooks`);
});

process.once("SIGTERM", () => {
  server.close(() => void receiver.close().then(({ stuck }) => process.exit(stuck === 0 ? 0 : 1)));
  setTimeout(() => server.closeAllConnections(), 5_000).unref();
});
