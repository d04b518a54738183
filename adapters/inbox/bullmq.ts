import { assertOptions, wholeNumber } from "../../src/adapter.ts";
import type { Inbox, Receiver, StoredDelivery } from "../../src/index.ts";
import { createConsume, type ConsumerOptions } from "./queues/consume.ts";
import { assertQueue, createQueueInbox, TAKEN } from "./queues/queue-inbox.ts";

export type { ConsumerOptions };

/** A `Queue` of BullMQ. */
export interface BullmqQueueLike {
  /** Resolves when Redis has them all. */
  addBulk(jobs: { name: string; data: StoredDelivery; opts: object }[]): Promise<unknown>;
  readonly defaultJobOptions?: object | undefined;
  /** Resolves once Redis was reached. */
  waitUntilReady?(): Promise<unknown>;
}

/** A `Job` of BullMQ. */
export interface BullmqJobLike {
  readonly data: unknown;
}

/** Options of {@link bullmqInbox}. */
export interface BullmqInboxOptions {
  /** Most jobs in one transaction of Redis. @default 500 */
  maxBatch?: number | undefined;
}

/**
 * For a day, as a receiver does by default, after 20 to 40 s each: BullMQ's own is one attempt, and its exponential backoff has no limit.
 * What has failed stays: failed jobs are the dead letters. Without a limit each would keep the errors of all attempts, a megabyte or two.
 */
const JOB_OPTIONS = {
  attempts: 2_880,
  backoff: { type: "fixed", delay: 40_000, jitter: 0.5 },
  removeOnComplete: true,
  stackTraceLimit: 3,
};

/**
 * Stores deliveries as jobs of BullMQ, each tried for a day, unless the queue's `defaultJobOptions` say otherwise. An acknowledged
 * delivery survives what Redis does: it needs `appendonly yes`, `appendfsync always` and `maxmemory-policy noeviction`. BullMQ keeps no
 * order.
 * @throws UsageError `option-invalid`
 * @example const inbox = bullmqInbox(new Queue("deliveries", { connection: { url, enableOfflineQueue: false } }));
 */
export function bullmqInbox(queue: BullmqQueueLike, options: BullmqInboxOptions = {}): Inbox<"network"> {
  assertQueue("bullmqInbox", queue, "addBulk");
  assertOptions("bullmqInbox", options, { maxBatch: true });
  const messages = wholeNumber({ where: "bullmqInbox", name: "maxBatch", value: options.maxBatch ?? 500, least: 1 });
  const reach = createReach(queue);
  return createQueueInbox({
    limits: { messages, batchBytes: Infinity, messageBytes: Infinity },
    async send(batch) {
      await reach();
      const opts = { ...JOB_OPTIONS, ...queue.defaultJobOptions };
      const jobs = await queue.addBulk(
        batch.map((delivery) => ({ name: "delivery", data: delivery, opts: { ...opts, jobId: delivery.id } })),
      );
      if (!Array.isArray(jobs)) return undefined;
      const made = jobs as readonly ({ readonly id?: unknown } | undefined)[];
      return batch.map(({ id }, place) =>
        (made[place]?.id ?? id) === id ? TAKEN : { status: "rejected", reason: notTaken() },
      );
    },
  });
}

/** For the first connection, within the time of a store. */
const CONNECT_MS = 3_000;

/** What is given to a queue before its first connection it keeps, and adds later, although it was answered 503. So nothing is given to it until then. */
function createReach(queue: BullmqQueueLike): () => Promise<void> {
  let isReached = false;
  return async () => {
    if (isReached) return;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error("Redis was not reached yet.")), CONNECT_MS);
    await Promise.race([queue.waitUntilReady?.(), late.promise]).finally(() => clearTimeout(timer));
    isReached = true;
  };
}

/** With another job's id: that one stands for it. */
function notTaken(): Error {
  return new Error("BullMQ dropped the job: leave `deduplication` out of the queue's `defaultJobOptions`.");
}

/**
 * The processor of a `Worker` of BullMQ: each job is a delivery. What no retry helps fails for good.
 * @throws UsageError `option-invalid`, `accept-forwards`, `receiver-invalid`
 * @example const worker = new Worker("deliveries", bullmqProcessor(receiver), { connection, concurrency: 100 });
 */
export function bullmqProcessor(
  receiver: Receiver,
  options?: ConsumerOptions,
): (job: BullmqJobLike, token?: string, signal?: AbortSignal) => Promise<void> {
  const consume = createConsume("bullmqProcessor", receiver, options);
  return async ({ data }, _token, signal) => {
    const [consumed] = await consume([data], { signal });
    if (consumed?.to === "retry") throw consumed.error;
    if (consumed?.to === "dead-letter") throw unrecoverable(consumed.error);
  };
}

/** BullMQ tells it by its name, also where it has several copies. */
function unrecoverable(cause: unknown): Error {
  const error = new Error(cause instanceof Error ? cause.message : String(cause), { cause });
  error.name = "UnrecoverableError";
  return error;
}
