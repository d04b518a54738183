// Middleware runs around every handler, in the order of `use`: here one measures the time, and one loads data that all handlers need.
// Try it: SIGNING_SECRET=whsec node middleware.ts
// and then: SIGNING_SECRET=whsec npx hookline send email.created --to http://localhost:3000/webhooks
import { createServer } from "node:http";
import { createReceiver } from "hookline";
import { nodeReceiver } from "hookline/node";
import { sqliteInbox } from "hookline/sqlite";

declare module "hookline" {
  interface ContextState {
    caseWorker?: string;
  }
}

const { SIGNING_SECRET: secret, PORT: port = 3000, INBOX: file = "inbox.db" } = process.env;
const receiver = createReceiver({ secret, inbox: sqliteInbox(file) });

receiver.use(async (event, ctx, next) => {
  const startedAt = performance.now();
  try {
    await next();
  } finally {
    console.log(`${event.type}, attempt ${ctx.attempt}: ${Math.round(performance.now() - startedAt)} ms`);
  }
});
receiver.use(async (event, ctx, next) => {
  ctx.state.caseWorker = event.accountId === 2002 ? "Ann" : "Bob"; // looked up, in a real app
  await next();
});
receiver.on("email", (event, ctx) => console.log(`${ctx.state.caseWorker} is notified of message ${event.id}`));

await receiver.start();
const server = createServer(nodeReceiver(receiver, { path: "/webhooks" }));
server.listen(port, () => console.log(`listening on http://localhost:${port}/webhooks`));
process.once("SIGTERM", () => {
  server.close(() => void receiver.close().then(({ stuck }) => process.exit(stuck === 0 ? 0 : 1)));
  setTimeout(() => server.closeAllConnections(), 5_000).unref();
});
