import { createReceiver } from "hookline";
import { writeSync } from "node:fs";
import pg from "pg";
import { complete } from "../../../adapters/inbox/postgres/complete.ts";
import { openDatabase } from "./in-database.ts";

// Works on the inbox of a database, and says `open` once its handler has completed its job in a transaction, which it never commits.
const [connectionString = "", leaseMs] = process.argv.slice(2);
const inbox = openDatabase(connectionString, { leaseMs: Number(leaseMs) });
const receiver = createReceiver({ secret: "a secret", inbox, log: false });
receiver.on("email", async (event, ctx) => {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query("begin");
  await client.query("insert into effect values ($1, 'killed')", [event.id]);
  await complete(ctx, client);
  writeSync(1, "open\n");
  await new Promise(() => {});
});
await receiver.start();
writeSync(1, "started\n");
