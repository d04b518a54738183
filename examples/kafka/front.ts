// In front: a delivery is in Kafka before it is answered; consumer.ts is behind. The topic must have replication factor 3 and
// min.insync.replicas=2. It ran with the mock cluster of librdkafka, over TCP: that shows no disk, no replication, no limits of a broker.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ProduceAcks, Producer, stringSerializers } from "@platformatic/kafka";
import { createReceiver, forwardInbox } from "hookline";
import { nodeReceiver } from "hookline/node";
import { MAX_BODY_BYTES, storeIn } from "./store.ts";

const { SIGNING_SECRET: secret, KAFKA_BROKERS: brokers = "localhost:9092", PORT: port = "3000" } = process.env;
const producer = new Producer({
  clientId: "webhooks-front",
  bootstrapBrokers: brokers.split(","),
  serializers: stringSerializers,
  acks: ProduceAcks.ALL, // all in-sync replicas have it
  idempotent: true, // what the client sends again is written once
  retries: 1, // after 5 s a delivery is answered 503 whatever the client still tries
});
const receiver = createReceiver({ secret, inbox: forwardInbox(storeIn(producer)), maxBodyBytes: MAX_BODY_BYTES });

const server = createServer(nodeReceiver(receiver, { path: "/webhooks" }));
server.listen(Number(port), () => {
  console.log(`listening on http://localhost:${(server.address() as AddressInfo).port}/webhooks`);
});

process.once("SIGTERM", () => {
  server.close(() => void receiver.close().then(() => producer.close()));
  setTimeout(() => server.closeAllConnections(), 5_000).unref();
});
