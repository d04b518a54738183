// A receiver in a Koa app, above its body parser; all other paths pass on.
// Try it: SIGNING_SECRET=whsec node koa.ts
// and then: SIGNING_SECRET=whsec npx hookline send calendarEvent.created --to http://localhost:3000/webhooks
import { bodyParser } from "@koa/bodyparser";
import Koa from "koa";
import { createReceiver } from "hookline";
import { koaReceiver } from "hookline/koa";
import { sqliteInbox } from "hookline/sqlite";

const { SIGNING_SECRET: secret, PORT: port = 3000, INBOX: file = "inbox.db" } = process.env;
const receiver = createReceiver({ secret, inbox: sqliteInbox(file) });

receiver.on("email", (event) => console.log(`${event.changeType} message ${event.id}`));
receiver.on("calendarEvent", (event) => console.log(`${event.changeType} event ${event.id} of ${event.calendarId}`));
receiver.on("calendarEvent.signal", (event) => console.log(`something changed in ${event.calendarId}`));

const app = new Koa();
app.use(koaReceiver(receiver, { path: "/webhooks" }));
app.use(bodyParser());
app.use((ctx) => {
  ctx.body = receiver.stats();
});

await receiver.start();
const server = app.listen(Number(port), () => console.log(`listening on http://localhost:${port}/webhooks`));

process.once("SIGTERM", () => {
  server.close(() => void receiver.close().then(({ stuck }) => process.exit(stuck === 0 ? 0 : 1)));
  setTimeout(() => server.closeAllConnections(), 5_000).unref();
});
