import { join } from "node:path";
import { Consumer, Producer, stringDeserializers, stringSerializers, type Message } from "@platformatic/kafka";
import { createReceiver, forwardInbox, memoryInbox, type StoredDelivery } from "hookline";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { consume, type Consuming } from "../../examples/kafka/consume.ts";
import { MAX_BODY_BYTES, storeIn, TOPIC } from "../../examples/kafka/store.ts";
import { folderFor } from "../adapters/inbox/on-disk.ts";
import { startNode, type Child } from "../cli/child.ts";
import { controllableInbox } from "../support/controllable-inbox.ts";
import { eventually } from "../support/eventually.ts";
import { send } from "../support/http.ts";
import { logRecorder } from "../support/log-recorder.ts";
import { bodyOf, change, signedRequest } from "../support/make-delivery.ts";
import { signedHeaders } from "../support/sign.ts";
import { compileKafka, type Kafka } from "./kafka-broker.ts";

const SECRET = "a secret of the shop";
const DEAD_TOPIC = "deliveries.dead";

const kafkas = compileKafka();
afterAll(() => {
  if (typeof kafkas !== "string") kafkas.remove();
});

async function startKafka(): Promise<Kafka> {
  if (typeof kafkas === "string") throw new Error(kafkas);
  const kafka = await kafkas.start();
  onTestFinished(() => kafka.end());
  return kafka;
}

function startProgram(file: string, { brokers }: Kafka, env: Readonly<Record<string, string>> = {}): Child {
  return startNode([file], { SIGNING_SECRET: SECRET, KAFKA_BROKERS: brokers, PORT: "0", ...env });
}

async function startFront(kafka: Kafka): Promise<{ readonly child: Child; readonly url: string }> {
  const child = startProgram("examples/kafka/front.ts", kafka);
  const [, url = ""] = await child.says("out", /listening on (\S+)\n/);
  return { child, url };
}

async function startConsumer(kafka: Kafka, inbox = join(folderFor(), "inbox.db")): Promise<Child> {
  const child = startProgram("examples/kafka/consumer.ts", kafka, { INBOX: inbox });
  await child.says("out", /consuming\n/);
  return child;
}

async function deliver(url: string, body: string): Promise<number> {
  const { status } = await send(url, { body, headers: signedHeaders(body, { secret: SECRET }) });
  return status;
}

function createdBody(accountId: number, ...ids: readonly string[]): string {
  return bodyOf({ accountId, payloads: ids.map((id) => change(id, "created")) });
}

/** What was handled, by account. */
function handledBy(child: Child): Record<string, string[]> {
  const lines = [...child.out().matchAll(/account (\d+): created message (\S+)/g)];
  return Object.fromEntries(
    [...Map.groupBy(lines, ([, account]) => account!)].map(([account, found]) => [
      account,
      found.map(([, , id]) => id!),
    ]),
  );
}

function connect({ brokers }: Kafka) {
  const cluster = { clientId: "test", bootstrapBrokers: brokers.split(",") };
  const producer = new Producer({ ...cluster, serializers: stringSerializers, idempotent: true, acks: -1 });
  const newConsumer = (groupId: string) =>
    new Consumer({ ...cluster, groupId, deserializers: stringDeserializers, autocommit: false, maxWaitTime: 1_000 });
  const observer = newConsumer("webhooks");
  onTestFinished(async () => {
    await Promise.all([producer.close(), observer.close(true)]);
  });
  return {
    producer,
    newConsumer,
    /** By partition; -1 where nothing is. */
    async committed(): Promise<number[]> {
      const found = await observer.listCommittedOffsets({ topics: [{ topic: TOPIC, partitions: [0, 1, 2, 3] }] });
      return (found.get(TOPIC) ?? []).map(Number);
    },
    /** One after the last, by partition. */
    async ends(): Promise<number[]> {
      const found = await observer.listOffsets({ topics: [TOPIC] });
      return (found.get(TOPIC) ?? []).map(Number);
    },
    /** The first dead letters. */
    async deadLetters(count: number): Promise<Message<string, string, string, string>[]> {
      const consumer = newConsumer("observer");
      const stream = await consumer.consume({ topics: [DEAD_TOPIC], mode: "earliest" });
      const messages: Message<string, string, string, string>[] = [];
      for await (const message of stream) {
        messages.push(message);
        if (messages.length === count) break;
      }
      await consumer.close(true);
      return messages;
    },
  };
}

/** Deliveries as a front stores them. */
async function received(...bodies: readonly string[]): Promise<readonly StoredDelivery[]> {
  const stored: StoredDelivery[] = [];
  const front = createReceiver({
    secret: SECRET,
    log: logRecorder().logger,
    inbox: forwardInbox(async (deliveries) => void stored.push(...deliveries)),
  });
  for (const body of bodies) await front.receive(signedRequest(body, { secret: SECRET, at: new Date() }));
  return stored;
}

/** The example's consumer in this process, whose inbox fails on command. */
async function consumeHere(kafka: Kafka, putAside: Consuming["putAside"] = async () => {}) {
  const inbox = controllableInbox(memoryInbox());
  const receiver = createReceiver({ secret: SECRET, inbox: inbox.inbox, log: logRecorder().logger });
  const handled: string[] = [];
  receiver.on("email", ({ id }) => void handled.push(String(id)), { lane: "resource", merge: false });
  await receiver.start();
  const consumer = connect(kafka).newConsumer("webhooks");
  const stream = await consumer.consume({ topics: [TOPIC], mode: "committed", fallbackMode: "earliest" });
  const stop = new AbortController();
  const ended = consume(stream, {
    receiver,
    putAside,
    commit: (offsets) => consumer.commit({ offsets }),
    signal: stop.signal,
  });
  onTestFinished(async () => {
    stop.abort();
    await ended;
    await consumer.close(true);
    await receiver.close({ drainMs: 0 });
  });
  return { inbox, handled, receiver };
}

const skip = typeof kafkas === "string" ? kafkas : undefined;

test("examples/kafka writes batches that a topic takes, and says of each delivery whether it is written", async () => {
  const lengths = [600_000, 10, 200_000, 10, MAX_BODY_BYTES - 500, 10];
  const deliveries = await received(...lengths.map((length, at) => createdBody(at, "m".padEnd(length, "x"))));
  const sent: { readonly key?: string; readonly value?: string }[][] = [];
  const results = await storeIn({
    async send({ messages }: { readonly messages: (typeof sent)[number] }) {
      sent.push(messages);
      if (sent.length === 2) throw new Error("too few replicas");
      return {};
    },
  })(deliveries);
  expect(sent.map((messages) => messages.map(({ key }) => key))).toEqual([
    ["0", "1"],
    ["2", "3"],
    ["4", "5"],
  ]);
  for (const messages of sent) {
    expect(messages.reduce((sum, { value = "" }) => sum + Buffer.byteLength(value), 0)).toBeLessThan(1_000_000);
  }
  expect(results.map(({ status }) => status)).toEqual([
    "fulfilled",
    "fulfilled",
    "rejected",
    "rejected",
    "fulfilled",
    "fulfilled",
  ]);
});

describe.skipIf(skip !== undefined)(
  `examples/kafka, on the mock cluster of librdkafka${skip ? ` (${skip})` : ""}`,
  () => {
    test("what is answered 200 is handled, each account's messages in order", async () => {
      const kafka = await startKafka();
      const [front, consumer] = await Promise.all([startFront(kafka), startConsumer(kafka)]);
      const accounts = Array.from({ length: 8 }, (_, index) => 2001 + index);
      const ids = Array.from({ length: 25 }, (_, index) => `m-${index}`);
      await Promise.all(
        accounts.map(async (account) => {
          for (const id of ids) expect(await deliver(front.url, createdBody(account, id))).toBe(200);
        }),
      );
      await eventually(() =>
        expect(handledBy(consumer)).toEqual(Object.fromEntries(accounts.map((account) => [String(account), ids]))),
      );
      for (const child of [front.child, consumer]) {
        child.kill("SIGTERM");
        expect(await child.ended, child.err()).toBe(0);
      }
      const kafkaNow = connect(kafka);
      expect(await kafkaNow.committed()).toEqual((await kafkaNow.ends()).map((end) => (end === 0 ? -1 : end)));
    });

    test("the longest body is handled, and a longer one answered 413", async () => {
      const kafka = await startKafka();
      const [{ url }, consumer] = await Promise.all([startFront(kafka), startConsumer(kafka)]);
      const bare = createdBody(2001, "");
      const longest = createdBody(2001, "m".padEnd(MAX_BODY_BYTES - bare.length, "x"));
      expect(longest.length).toBe(MAX_BODY_BYTES);
      expect(await deliver(url, longest)).toBe(200);
      expect(await deliver(url, createdBody(2001, "m".padEnd(MAX_BODY_BYTES - bare.length + 1, "x")))).toBe(413);
      await consumer.says("out", /created message mxxx/);
    });

    test("what Kafka does not confirm is answered 503, and later stored", async () => {
      const kafka = await startKafka();
      const { url } = await startFront(kafka);
      expect(await deliver(url, createdBody(2001, "m-1"))).toBe(200);
      await kafka.refuse();
      expect(await deliver(url, createdBody(2001, "m-2"))).toBe(503);
      await kafka.allow();
      expect(await deliver(url, createdBody(2001, "m-2"))).toBe(200);
    });

    test("what a consumer accepted that is killed before it commits comes again, and is stored once", async () => {
      const kafka = await startKafka();
      const ids = Array.from({ length: 20 }, (_, index) => `m-${index}`);
      const { producer, committed } = connect(kafka);
      await storeIn(producer)(await received(...ids.map((id) => createdBody(2001, id))));
      const inbox = join(folderFor(), "inbox.db");
      await startProgram("test/examples/kafka-killed.ts", kafka, { INBOX: inbox }).ended;
      expect(await committed()).toEqual([-1, -1, -1, -1]);

      const consumer = await startConsumer(kafka, inbox);
      await storeIn(producer)(await received(createdBody(2001, "m-last")));
      await consumer.says("out", /created message m-last/);
      expect(handledBy(consumer)).toEqual({ 2001: [...ids, "m-last"] });
    });

    test("what no retry helps is in the topic of dead letters, and nothing waits behind it", async () => {
      const kafka = await startKafka();
      const { producer, committed, ends, deadLetters } = connect(kafka);
      const [forged, good] = (await received(createdBody(2001, "m-1"), createdBody(2001, "m-2"))) as [
        StoredDelivery,
        StoredDelivery,
      ];
      const body = Buffer.from(createdBody(2001, "m-0")).toString("base64");
      const values = ["no JSON", JSON.stringify({ ...forged, bodyBase64: body }), JSON.stringify(good)];
      await producer.send({ messages: values.map((value) => ({ topic: TOPIC, key: "2001", value })) });
      const consumer = await startConsumer(kafka);
      await consumer.says("out", /created message m-2/);
      expect(handledBy(consumer)).toEqual({ 2001: ["m-2"] });
      expect(await deadLetters(2)).toMatchObject([
        { key: "2001", value: values[0] },
        { key: "2001", value: values[1] },
      ]);
      await eventually(async () =>
        expect(await committed()).toEqual((await ends()).map((end) => (end === 0 ? -1 : end))),
      );
    });

    test("its offset is committed only when it is in the topic of dead letters", async () => {
      const kafka = await startKafka();
      const { producer, committed } = connect(kafka);
      const [good] = await received(createdBody(2001, "m-1"));
      const values = [JSON.stringify(good), "no JSON"];
      await producer.send({ messages: values.map((value) => ({ topic: TOPIC, key: "2001", value, partition: 1 })) });
      const told = vi.spyOn(console, "error").mockImplementation(() => {});
      onTestFinished(() => told.mockRestore());
      let attempts = 0;
      const { handled } = await consumeHere(kafka, async () => {
        attempts += 1;
        if (attempts === 1) throw new Error("no leader");
        if (attempts === 2) expect(await committed()).toEqual([-1, 1, -1, -1]);
      });
      await eventually(async () => expect(await committed()).toEqual([-1, 2, -1, -1]));
      expect(attempts).toBe(2);
      expect(told).toHaveBeenCalledExactlyOnceWith(new Error("no leader"));
      expect(handled).toEqual(["m-1"]);
    });

    test("while the storage is down nothing is committed, and it goes on by itself", async () => {
      const kafka = await startKafka();
      const { producer, committed, ends } = connect(kafka);
      const { inbox, handled, receiver } = await consumeHere(kafka);
      inbox.fail("store");
      const ids = Array.from({ length: 20 }, (_, index) => `m-${index}`);
      await storeIn(producer)(await received(...ids.map((id) => createdBody(2001, id))));
      await eventually(() => expect(receiver.stats().refused["storage-failed"]).toBeGreaterThan(ids.length));
      expect(await committed()).toEqual([-1, -1, -1, -1]);
      inbox.release("store");
      await eventually(async () =>
        expect(await committed()).toEqual((await ends()).map((end) => (end === 0 ? -1 : end))),
      );
      await eventually(() => expect(handled).toEqual(ids));
    });
  },
);
