// Stores what BullMQ brings in an inbox of its own, and runs the handlers. A job of BullMQ is done when its delivery is stored.
import { Worker } from "bullmq";
import { createReceiver } from "hookline";
import { bullmqProcessor } from "hookline/bullmq";
import { sqliteInbox } from "hookline/sqlite";

const { SIGNING_SECRET: secret, REDIS_URL: url = "redis://127.0.0.1:6379", INBOX: file = "inbox.db" } = process.env;
const receiver = createReceiver({ secret, inbox: sqliteInbox(file) });
receiver.on("email", (event) => console.log(`account ${event.accountId}: message ${event.id}`));
await receiver.start();

const options = { connection: { url }, concurrency: 100, maxStalledCount: 1_000 };
const worker = new Worker("deliveries", bullmqProcessor(receiver), options);
worker.on("error", (error) => console.error(error.message));
process.once("SIGTERM", () => {
  void worker.close().then(() => receiver.close());
  setTimeout(() => process.exit(1), 30_000).unref(); // while Redis is away, the worker waits for it
});
