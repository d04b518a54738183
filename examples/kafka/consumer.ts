// Behind: what Kafka brings is stored in an inbox, which handles it, and then its offset is committed; front.ts is in front. Where several
// consumers share the partitions, give them a postgresInbox. What the client cannot mend ends the process with code 1: let it be started again.
// It ran with the mock cluster of librdkafka, over TCP: that shows no disk, no replication, no limits of a broker.
import { Consumer, ProduceAcks, Producer, stringDeserializers, stringSerializers } from "@platformatic/kafka";
import { createReceiver } from "hookline";
import { sqliteInbox } from "hookline/sqlite";
import { consume } from "./consume.ts";
import { TOPIC } from "./store.ts";

const { SIGNING_SECRET: secret, KAFKA_BROKERS: brokers = "localhost:9092", INBOX: file = "inbox.db" } = process.env;
const receiver = createReceiver({ secret, inbox: sqliteInbox(file) });
receiver.on(
  "email",
  (event) => {
    console.log(`account ${event.accountId}: ${event.changeType} message ${event.id}`);
  },
  { lane: "resource", merge: false }, // an account's messages one after the other, as they are in the topic
);

const cluster = { clientId: "webhooks-consumer", bootstrapBrokers: brokers.split(",") };
const dead = new Producer({ ...cluster, serializers: stringSerializers, acks: ProduceAcks.ALL, idempotent: true });
const consumer = new Consumer({
  ...cluster,
  groupId: "webhooks",
  deserializers: stringDeserializers,
  autocommit: false,
  sessionTimeout: 10_000, // as installed, the partitions of a consumer that was killed wait a minute
  rebalanceTimeout: 10_000,
  maxWaitTime: 1_000, // so long a SIGTERM waits for a fetch
  highWaterMark: 100, // of messages that may have 1 MB
  maxBytes: 8_388_608,
});

const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());

await receiver.start();
const stream = await consumer.consume({ topics: [TOPIC], mode: "committed", fallbackMode: "earliest" });
console.log("consuming");
await consume(stream, {
  receiver,
  putAside: ({ topic, partition, offset, key, value }, error) =>
    dead.send({
      messages: [
        {
          topic: `${TOPIC}.dead`,
          key,
          value,
          headers: { from: `${topic} ${partition} ${offset}`, why: String(error) },
        },
      ],
    }),
  commit: (offsets) => consumer.commit({ offsets }),
  signal: stop.signal,
});
await consumer.close(true);
await dead.close();
await receiver.close();
