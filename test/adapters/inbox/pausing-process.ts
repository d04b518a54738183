import { createReceiver } from "hookline";
import { postgresInbox } from "hookline/postgres";
import { sqliteInbox } from "hookline/sqlite";

// Pauses account 1 of an inbox, says `paused` once that is durable, and stays until it is killed.
const [where = ""] = process.argv.slice(2);
const inbox = where.startsWith("postgres") ? postgresInbox(where) : sqliteInbox(where);
const receiver = createReceiver({ secret: "s", inbox, log: false });
await receiver.flow.pause({ accountId: 1 }, { reason: "import" });
process.stdout.write("paused\n");
setInterval(() => {}, 1_000);
