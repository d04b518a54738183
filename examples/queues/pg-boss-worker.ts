// Stores what pg-boss brings in an inbox of its own, and runs the handlers. A job of pg-boss is done when its delivery is stored.
import { createReceiver } from "hookline";
import { pgBossHandler } from "hookline/pg-boss";
import { sqliteInbox } from "hookline/sqlite";
import { PgBoss } from "pg-boss";

const {
  SIGNING_SECRET: secret,
  DATABASE_URL: url = "postgres://localhost/app",
  INBOX: file = "inbox.db",
} = process.env;
const receiver = createReceiver({ secret, inbox: sqliteInbox(file) });
receiver.on("email", (event) => console.log(`account ${event.accountId}: message ${event.id}`));
await receiver.start();

const boss = new PgBoss(url);
boss.on("error", (error) => console.error(error.message));
await boss.start();
// Each job of a batch ends by itself.
const each = { perJobResults: true } as const;
await boss.work("deliveries", { batchSize: 100, burstWhenBatchFull: true, ...each }, pgBossHandler(receiver, each));
process.once("SIGTERM", () => void boss.stop().then(() => receiver.close()));
