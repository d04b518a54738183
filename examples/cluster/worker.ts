// Runs the handlers, and receives nothing: each worker has a share of the lanes, and takes over those of one that died.
import { setTimeout as wait } from "node:timers/promises";
import { createReceiver } from "hookline";
import { postgresInbox } from "hookline/postgres";

const { SIGNING_SECRET: secret, DATABASE_URL: database = "postgres://localhost/app" } = process.env;
const receiver = createReceiver({ secret, inbox: postgresInbox(database) });

receiver.on(
  "email",
  async (event, ctx) => {
    await wait(Math.random() * 60, undefined, { signal: ctx.signal }); // the call of an API, never twice of one length
    if (process.send === undefined) console.log(`worker ${process.pid}: account ${event.accountId}, ${event.id}`);
    else process.send({ account: event.accountId, message: event.id });
  },
  // One message of an account after the other.
  { lane: "resource", merge: false },
);

await receiver.start();
console.log(`worker ${process.pid} works`);
process.send?.({ ready: true });

process.once("SIGTERM", () => void receiver.close({ drainMs: 5_000 }).then(() => process.exit()));
process.once("disconnect", () => process.exit());
