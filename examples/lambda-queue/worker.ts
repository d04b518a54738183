// A program on a server or in a container: it runs the handlers. Start as many as you like.
import { createReceiver } from "hookline";
import { postgresInbox } from "hookline/postgres";

const { SIGNING_SECRET: secret, DATABASE_URL: database = "" } = process.env;
const receiver = createReceiver({ secret, inbox: postgresInbox(database) });

receiver.on(
  "email",
  (event) => console.log(`account ${event.accountId}: ${event.changeType} message ${event.id}`),
  // One message of an account after the other.
  { lane: "resource", merge: false },
);

await receiver.start();

process.once("SIGTERM", () => void receiver.close({ drainMs: 20_000 }));
