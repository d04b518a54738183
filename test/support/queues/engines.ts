import { jetstreamManager, jetstream } from "@nats-io/jetstream";
import { connect, nanos } from "@nats-io/transport-node";
import { Queue } from "bullmq";
import type { StoredDelivery } from "hookline";
import { PgBoss } from "pg-boss";
import { startPostgres } from "../postgres.ts";
import { startFakeSqs, type FakeSqs } from "./fake-sqs.ts";
import { startNats, startRedis, whyWithout } from "./start-server.ts";
import { DEAD_QUEUE, STREAM, type EngineName } from "./connect.ts";

/** A queue, started for one row. */
export interface RunningEngine {
  readonly url: string;
  /** It ends in the middle of what it does, and comes back. Undefined where it is no process of its own. */
  crash?(): Promise<void>;
  /** Puts what no receiver made. @param group of an ordered queue @default each delivery has its own */
  put(deliveries: readonly StoredDelivery[], group?: string): Promise<void>;
  /** Of the dead letters. */
  deadCount(): Promise<number>;
  readonly sqs?: FakeSqs;
  remove(): Promise<void>;
}

/** A queue in front of an inbox. */
export interface QueueEngine {
  readonly name: EngineName;
  /** Why it cannot run here. */
  readonly skip: string | undefined;
  /** Deliveries of an account stay in order. */
  readonly ordered: boolean;
  start(options?: EngineOptions): Promise<RunningEngine>;
}

interface EngineOptions {
  /** The fake refuses a twentieth of the messages, and consumers often end before they have answered. @default false */
  readonly harsh?: boolean;
}

const QUEUE = "deliveries";
const DEAD_STREAM = "DEAD_DELIVERIES";

export const ENGINES: readonly QueueEngine[] = [
  { name: "bullmq", skip: whyWithout("redis-server"), ordered: false, start: startBullmq },
  { name: "pg-boss", skip: undefined, ordered: true, start: startPgBoss },
  { name: "sqs", skip: undefined, ordered: true, start: startSqs },
  { name: "nats", skip: whyWithout("nats-server"), ordered: false, start: startStream },
];

async function startBullmq(): Promise<RunningEngine> {
  const server = await startRedis();
  const url = `redis://127.0.0.1:${server.port}`;
  const queue = new Queue(QUEUE, { connection: { url } });
  queue.on("error", () => {});
  return {
    url,
    async crash() {
      await server.kill();
      await server.start();
    },
    put: async (deliveries) =>
      void (await queue.addBulk(deliveries.map((data) => ({ name: "delivery", data, opts: { attempts: 100 } })))),
    deadCount: () => queue.getFailedCount(),
    async remove() {
      await queue.close();
      await server.remove();
    },
  };
}

async function startPgBoss(): Promise<RunningEngine> {
  const server = await startPostgres();
  const boss = new PgBoss(server.connectionString);
  boss.on("error", () => {});
  await boss.start();
  return {
    url: server.connectionString,
    async crash() {
      await server.stop("immediate");
      await server.start();
    },
    put: async (deliveries, group) =>
      void (await boss.insert(
        QUEUE,
        deliveries.map((data) => ({ data, singletonKey: group ?? data.id, retryLimit: 100 })),
      )),
    deadCount: async () => (await boss.findJobs(DEAD_QUEUE)).length,
    async remove() {
      await boss.stop({ graceful: false });
      await server.remove();
    },
  };
}

async function startSqs({ harsh = false }: EngineOptions = {}): Promise<RunningEngine> {
  const sqs = await startFakeSqs({
    fifo: true,
    visibilityMs: 500,
    // Each time that a consumer is killed counts as well.
    maxReceiveCount: harsh ? 20 : 3,
    refuses: () => harsh && Math.random() < 0.05,
  });
  let poisoned = 0;
  return {
    url: sqs.queueUrl,
    put: async (deliveries, group) =>
      sqs.put(deliveries.map((one) => ({ body: JSON.stringify(one), group: group ?? `poison-${(poisoned += 1)}` }))),
    deadCount: async () => sqs.dead.length,
    sqs,
    remove: () => sqs.close(),
  };
}

async function startStream(): Promise<RunningEngine> {
  const server = await startNats();
  const url = `nats://127.0.0.1:${server.port}`;
  const connection = await connect({ servers: url, maxReconnectAttempts: -1, reconnectTimeWait: 100 });
  const manager = await jetstreamManager(connection);
  // As the example does: a stream is not added again with other settings.
  const age = { max_age: nanos(14 * 24 * 60 * 60 * 1_000) };
  await manager.streams.add({ name: STREAM, subjects: [QUEUE], ...age });
  await manager.streams.add({
    name: DEAD_STREAM,
    subjects: [`$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.${STREAM}.>`],
    ...age,
  });
  return {
    url,
    async crash() {
      await server.kill();
      await server.start();
    },
    async put(deliveries) {
      for (const delivery of deliveries) await jetstream(connection).publish(QUEUE, JSON.stringify(delivery));
    },
    deadCount: async () => (await manager.streams.info(DEAD_STREAM)).state.messages,
    async remove() {
      await connection.close();
      await server.remove();
    },
  };
}
