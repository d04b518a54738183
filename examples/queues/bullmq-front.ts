// A receiver in front of BullMQ: a delivery is answered 200 when Redis has it. bullmq-worker.ts does the rest.
import { createServer } from "node:http";
import { Queue } from "bullmq";
import { createReceiver } from "hookline";
import { bullmqInbox } from "hookline/bullmq";
import { nodeReceiver } from "hookline/node";

const { SIGNING_SECRET: secret, REDIS_URL: url = "redis://127.0.0.1:6379", PORT: port = 3000 } = process.env;
// While Redis is away, a delivery gets 503. The client must not keep it and add it later: the service sends it again.
const queue = new Queue("deliveries", { connection: { url, enableOfflineQueue: false } });
queue.on("error", (error) => console.error(error.message));
const receiver = createReceiver({ secret, inbox: bullmqInbox(queue) });

const server = createServer(nodeReceiver(receiver, { path: "/webhooks" }));
server.listen(port, () => console.log(`listening on http://localhost:${port}/webhooks`));
process.once("SIGTERM", () => {
  server.close(() => void receiver.close().then(() => queue.disconnect()));
  setTimeout(() => server.closeAllConnections(), 5_000).unref(); // those that are busy
});
