import express from "express";
import { createReceiver } from "hookline";
import { expressReceiver } from "hookline/express";
import { sqliteInbox } from "hookline/sqlite";

// The app that the tour kills: its handler never ends the first time. It reports to its parent process.
const [file = "", secret = "", port = "0"] = process.argv.slice(2);
const tell = (what: string, text: string): unknown => process.send?.({ what, text });
process.on("disconnect", () => process.exit());

const receiver = createReceiver({ secret, inbox: sqliteInbox(file), concurrency: 1, log: false });
receiver.on("email", async (event, ctx) => {
  if (event.id === "m-7" && ctx.attempt === 1) {
    tell(event.type, `begins to fetch ${event.id}`);
    await new Promise(() => {});
  }
  tell(event.type, ctx.attempt > 1 ? `attempt ${ctx.attempt}: fetch ${event.id}` : `fetch ${event.id}`);
});

const app = express();
app.post("/webhooks", expressReceiver(receiver));
await receiver.start();
const server = app.listen(Number(port), "127.0.0.1", () => {
  const address = server.address();
  if (address !== null && typeof address === "object") process.send?.({ port: address.port });
});
