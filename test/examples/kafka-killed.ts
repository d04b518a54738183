// A consumer that dies at its first batch, when it is stored and before its offsets are committed.
import { Consumer, stringDeserializers } from "@platformatic/kafka";
import { createReceiver } from "hookline";
import { sqliteInbox } from "hookline/sqlite";
import { consume } from "../../examples/kafka/consume.ts";
import { TOPIC } from "../../examples/kafka/store.ts";

const { SIGNING_SECRET: secret, KAFKA_BROKERS: brokers = "", INBOX: file = "" } = process.env;
const receiver = createReceiver({ secret, inbox: sqliteInbox(file) });
const consumer = new Consumer({
  clientId: "killed",
  groupId: "webhooks",
  bootstrapBrokers: brokers.split(","),
  deserializers: stringDeserializers,
  autocommit: false,
  sessionTimeout: 10_000,
  rebalanceTimeout: 10_000,
});
async function die(): Promise<never> {
  process.kill(process.pid, "SIGKILL");
  return new Promise(() => {});
}

await consume(await consumer.consume({ topics: [TOPIC], mode: "committed", fallbackMode: "earliest" }), {
  receiver,
  putAside: async () => {},
  commit: die,
  signal: new AbortController().signal,
});
