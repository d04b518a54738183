// A receiver as a server without a framework. Its handler takes time and may fail: a failed job is retried.
// Try it: SIGNING_SECRET=whsec node node.ts
// and then: SIGNING_SECRET=whsec npx hookline send email.created --to http://localhost:3000/webhooks
import { createServer } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { createReceiver, GiveUp } from "hookline";
import { nodeReceiver } from "hookline/node";
import { sqliteInbox } from "hookline/sqlite";

const { SIGNING_SECRET: secret, PORT: port = 3000, INBOX: file = "inbox.db" } = process.env;
const receiver = createReceiver({ secret, inbox: sqliteInbox(file), concurrency: 20 });

receiver.on(
  "email",
  async (event, ctx) => {
    await wait(10, undefined, { signal: ctx.signal }); // the call of an API, such as fetch(url, { signal })
    if (ctx.attempt === 1) throw new Error("the API is busy");
    if (event.id === "m-404") throw new GiveUp("there is no such message");
    console.log(`account ${event.accountId}: fetched message ${event.id} at attempt ${ctx.attempt}`);
  },
  { attempts: 5, timeoutMs: 10_000 },
);
receiver.onDead((job) => console.log(`gave up on ${job.event.type}: ${job.lastError?.message}`));

await receiver.start();
const server = createServer(nodeReceiver(receiver, { path: "/webhooks" }));
server.listen(port, () => console.log(`listening on http://localhost:${port}/webhooks`));

process.once("SIGTERM", () => {
  server.close(() => void receiver.close({ drainMs: 20_000 }).then(({ stuck }) => process.exit(stuck === 0 ? 0 : 1)));
  setTimeout(() => server.closeAllConnections(), 5_000).unref();
});
