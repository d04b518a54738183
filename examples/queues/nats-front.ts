// A receiver in front of NATS JetStream: a delivery is answered 200 when the stream has it. nats-worker.ts does the rest.
import { createServer } from "node:http";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, nanos } from "@nats-io/transport-node";
import { createReceiver } from "hookline";
import { natsInbox } from "hookline/nats";
import { nodeReceiver } from "hookline/node";

const { SIGNING_SECRET: secret, NATS_URL: servers = "nats://127.0.0.1:4222", PORT: port = 3000 } = process.env;
const connection = await connect({ servers, maxReconnectAttempts: -1 });
const { streams } = await jetstreamManager(connection);
const age = { max_age: nanos(14 * 24 * 60 * 60 * 1_000) }; // acknowledged messages stay so long, too
await streams.add({ name: "DELIVERIES", subjects: ["deliveries"], ...age });
// What no retry helps stays in the first stream; here is which messages these are.
await streams.add({
  name: "DEAD_DELIVERIES",
  subjects: ["$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.DELIVERIES.>"],
  ...age,
});
const receiver = createReceiver({ secret, inbox: natsInbox(jetstream(connection), { subject: "deliveries" }) });

const server = createServer(nodeReceiver(receiver, { path: "/webhooks" }));
server.listen(port, () => console.log(`listening on http://localhost:${port}/webhooks`));
process.once("SIGTERM", () => {
  server.close(() => void receiver.close().then(() => connection.close()));
  setTimeout(() => server.closeAllConnections(), 5_000).unref(); // those that are busy
});
