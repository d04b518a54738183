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
// The deliveries of an account stay in order.
await boss.createQueue("deliveries", { policy: "key_strict_fifo", deadLetter: "dead-deliveries" });
const receiver = createReceiver({ secret, inbox: pgBossInbox(boss, { queue: "deliveries", group: "account" }) });

const server = createServer(nodeReceiver(receiver, { path: "/webhooks" }));
server.listen(port, () => console.log(`listening on http://localhost:${port}/webhooks`));
process.once("SIGTERM", () => server.close(() => void receiver.close().then(() => boss.stop())));
