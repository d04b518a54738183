// Stores what a stream brings in an inbox of its own, and runs the handlers. A message is acknowledged when its delivery is stored.
import { AckPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { createReceiver } from "hookline";
import { natsConsumer } from "hookline/nats";
import { sqliteInbox } from "hookline/sqlite";

const { SIGNING_SECRET: secret, NATS_URL: servers = "nats://127.0.0.1:4222", INBOX: file = "inbox.db" } = process.env;
const receiver = createReceiver({ secret, inbox: sqliteInbox(file) });
receiver.on("email", (event) => console.log(`account ${event.accountId}: message ${event.id}`));
await receiver.start();

const connection = await connect({ servers, maxReconnectAttempts: -1 });
const { consumers } = await jetstreamManager(connection);
await consumers.add("DELIVERIES", { durable_name: "worker", ack_policy: AckPolicy.Explicit });
const consume = natsConsumer(receiver);
const messages = await (await jetstream(connection).consumers.get("DELIVERIES", "worker")).consume();
process.once(
  "SIGTERM",
  () =>
    void messages
      .close()
      .then(() => connection.drain())
      .then(() => receiver.close()),
);
for await (const message of messages) void consume(message);
