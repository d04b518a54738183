// A receiver in front of pg-boss: a delivery is answered 200 when PostgreSQL has it. pg-boss-worker.ts does the rest.
import { createServer } from "node:http";
import { createReceiver } from "hookline";
import { nodeReceiver } from "hookline/node";
import { pgBossInbox } from "hookline/pg-boss";
import { PgBoss } from "pg-boss";

const { SIGNING_SECRET: secret, DATABASE_URL: url = "postgres://localhost/app", PORT: port = 3000 } = process.env;
const boss = new PgBoss(url);
boss.on("error", (error) => console.error(error.message));
await boss.start();
await boss.createQueue("dead-deliveries");
// The deliveries of an account stay in order. One of a worker that is killed holds up its account until it expires.
const order = { policy: "key_strict_fifo", expireInSeconds: 60 } as const;
await boss.createQueue("deliveries", { ...order, deadLetter: "dead-deliveries" });
const receiver = createReceiver({ secret, inbox: pgBossInbox(boss, { queue: "deliveries", group: "account" }) });

const server = createServer(nodeReceiver(receiver, { path: "/webhooks" }));
server.listen(port, () => console.log(`listening on http://localhost:${port}/webhooks`));
process.once("SIGTERM", () => {
  server.close(() => void receiver.close().then(() => boss.stop()));
  setTimeout(() => server.closeAllConnections(), 5_000).unref(); // those that are busy
});
