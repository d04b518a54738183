import { SQSClient } from "@aws-sdk/client-sqs";
import { AckPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { Queue, Worker } from "bullmq";
import type { Inbox, Receiver } from "hookline";
import { bullmqInbox, bullmqProcessor } from "hookline/bullmq";
import { natsConsumer, natsInbox } from "hookline/nats";
import { pgBossHandler, pgBossInbox, type PgBossLike } from "hookline/pg-boss";
import { sqsConsumer, sqsInbox, type SqsBatchResponse, type SqsEventLike } from "hookline/sqs";
import { PgBoss } from "pg-boss";

/** The queues that a stream goes through. */
export type EngineName = "bullmq" | "pg-boss" | "sqs" | "nats";

/** A process's connection to a queue. */
export interface Front {
  readonly inbox: Inbox;
  close(): Promise<unknown>;
}

interface Consumer {
  /** What an invocation of AWS Lambda runs, where there is one. */
  readonly invoke?: (event: SqsEventLike) => Promise<SqsBatchResponse>;
  close(): Promise<unknown>;
}

/** How a process in front, and one behind, connect to a queue as its page says. */
export interface EngineConnections {
  openFront(url: string): Promise<Front>;
  /** Consumes from now on. */
  consume(url: string, receiver: Receiver): Promise<Consumer>;
}

const QUEUE = "deliveries";
export const DEAD_QUEUE = "dead-deliveries";
export const STREAM = "DELIVERIES";

export const CONNECTIONS: Readonly<Record<EngineName, EngineConnections>> = {
  bullmq: {
    async openFront(url) {
      const queue = new Queue(QUEUE, {
        connection: { url, enableOfflineQueue: false },
        defaultJobOptions: { backoff: { type: "fixed", delay: 200 } },
      });
      queue.on("error", () => {});
      await queue.waitUntilReady();
      return { inbox: bullmqInbox(queue), close: () => queue.close() };
    },
    async consume(url, receiver) {
      // What a consumer had that was killed comes again when its lock is over.
      const times = { lockDuration: 2_000, stalledInterval: 1_000, maxStalledCount: 1_000 };
      const worker = new Worker(QUEUE, bullmqProcessor(receiver), { connection: { url }, concurrency: 100, ...times });
      worker.on("error", () => {});
      await worker.waitUntilReady();
      // As a process that is killed: it does not wait for what runs.
      return { close: () => worker.close(true) };
    },
  },
  "pg-boss": {
    async openFront(url) {
      const boss = await startBoss(url);
      // Tests have no half minute between two attempts.
      const insert: PgBossLike["insert"] = (name, jobs) =>
        boss.insert(
          name,
          jobs.map((job) => ({ ...job, retryDelay: 1 })),
        );
      return { inbox: pgBossInbox({ insert }, { queue: QUEUE, group: "account" }), close: () => boss.stop() };
    },
    async consume(url, receiver) {
      const boss = await startBoss(url);
      const each = { perJobResults: true } as const;
      const options = { batchSize: 100, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true, ...each };
      await boss.work(QUEUE, options, pgBossHandler(receiver, each));
      return { close: () => boss.stop() };
    },
  },
  sqs: {
    async openFront(url) {
      const credentials = { accessKeyId: "key", secretAccessKey: "secret" };
      const client = new SQSClient({ endpoint: new URL(url).origin, region: "eu-central-1", credentials });
      return { inbox: sqsInbox(client, { queueUrl: url }), close: async () => client.destroy() };
    },
    consume: async (_, receiver) => ({ invoke: sqsConsumer(receiver), close: async () => {} }),
  },
  nats: {
    async openFront(url) {
      const connection = await connect({ servers: url, ...RECONNECT });
      const inbox = natsInbox(jetstream(connection, { timeout: 2_000 }), { subject: QUEUE });
      return { inbox, close: () => connection.close() };
    },
    async consume(url, receiver) {
      const connection = await connect({ servers: url, ...RECONNECT });
      const manager = await jetstreamManager(connection);
      await manager.consumers.add(STREAM, { durable_name: "worker", ack_policy: AckPolicy.Explicit, ack_wait: 2e9 });
      const consumer = await jetstream(connection).consumers.get(STREAM, "worker");
      const consume = natsConsumer(receiver);
      const messages = await consumer.consume({ max_messages: 500 });
      void (async () => {
        for await (const message of messages) void consume(message);
      })();
      return { close: () => connection.close() };
    },
  },
};

const RECONNECT = { maxReconnectAttempts: -1, reconnectTimeWait: 100 };

async function startBoss(url: string): Promise<PgBoss> {
  // A job of a consumer that was killed expires.
  const boss = new PgBoss({ connectionString: url, monitorIntervalSeconds: 1 });
  boss.on("error", () => {});
  await boss.start();
  await boss.createQueue(DEAD_QUEUE);
  await boss.createQueue(QUEUE, { policy: "key_strict_fifo", deadLetter: DEAD_QUEUE, expireInSeconds: 3 });
  return boss;
}
