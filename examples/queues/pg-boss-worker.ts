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
const store = pgBossHandler(receiver, each);
const worker = await boss.work("deliveries", { batchSize: 100, ...each }, async (jobs) => {
  const results = await store(jobs);
  boss.notifyWorker(worker); // look again at once: a batch has one delivery of each account
  return results;
});
// A dead letter is a copy. The failed job itself would hold up its account for a week.
const sweep = () => boss.deleteStoredJobs("deliveries").catch((error: Error) => console.error(error.message));
const sweeping = setInterval(() => void sweep(), 5_000);
process.once("SIGTERM", () => {
  clearInterval(sweeping);
  void boss.stop().then(() => receiver.close());
});
