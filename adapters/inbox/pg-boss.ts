import { assertOptions, kindOf } from "../../src/adapter.ts";
import { UsageError, type Inbox, type Receiver, type StoredDelivery } from "../../src/index.ts";
import { createConsume, type ConsumerOptions } from "./queues/consume.ts";
import { assertGroupBy, groupKeyOf, type GroupBy } from "./queues/group-key.ts";
import { assertQueue, createQueueInbox, TAKEN } from "./queues/queue-inbox.ts";

export type { ConsumerOptions, GroupBy };

/** pg-boss, started. */
export interface PgBossLike {
  /** Resolves when the jobs are committed, with the ids of those that the queue's policy takes. */
  insert(name: string, jobs: PgBossJob[], options?: { returnId?: boolean }): Promise<unknown>;
  /** Asked where `insert` gives no ids. Without it all are taken. */
  findJobs?(name: string, options: { id: string }): Promise<readonly unknown[]>;
}

/** A job to insert. */
export interface PgBossJob {
  id: string;
  data: StoredDelivery;
  singletonKey?: string;
  retryLimit: number;
  retryDelay: number;
}

/** A job of pg-boss. */
export interface PgBossJobLike {
  readonly id: string;
  readonly data: unknown;
  readonly signal?: AbortSignal;
  /** Of all jobs that were fetched together. */
  readonly expireInSeconds?: number;
}

/** Options of {@link pgBossInbox}. */
export interface PgBossInboxOptions {
  /** Made before, by `boss.createQueue`. */
  queue: string;
  /** On a queue of the policy `key_strict_fifo`: what keeps its order. @default none */
  group?: GroupBy | undefined;
}

/** Options of {@link pgBossHandler}. */
export interface PgBossHandlerOptions extends ConsumerOptions {
  /** Set it where `boss.work` has it, too: then the jobs of a batch end one by one, and what no retry helps is dead at once. @default false */
  perJobResults?: boolean | undefined;
}

/** A job's end, where `perJobResults` is set. */
export interface PgBossJobResult {
  id: string;
  status: "completed" | "failed" | "deadletter";
  output?: object;
}

/** For a day, as a receiver does by default: pg-boss's own are two, at once. */
const RETRIES = { retryLimit: 2_880, retryDelay: 30 };

/**
 * Stores deliveries as jobs of pg-boss, each tried for a day. Jobs of one group are done in order on a queue of the policy
 * `key_strict_fifo`, where a failed job holds up its group until it is retried or deleted.
 * @throws UsageError `option-invalid`
 * @example const inbox = pgBossInbox(boss, { queue: "deliveries", group: "account" });
 */
export function pgBossInbox(boss: PgBossLike, options: PgBossInboxOptions): Inbox<"network"> {
  assertQueue("pgBossInbox", boss, "insert");
  assertOptions("pgBossInbox", options, { queue: true, group: true });
  const { queue, group } = options;
  if (typeof queue !== "string" || queue === "")
    throw new UsageError("option-invalid", `pgBossInbox got queue ${kindOf(queue)}, expected the name of a queue.`);
  assertGroupBy("pgBossInbox", group);
  return createQueueInbox({
    // One statement: its values are JSON, which PostgreSQL limits to 1 GB.
    limits: { messages: 500, batchBytes: 16 * 1024 * 1024, messageBytes: Infinity },
    async send(batch) {
      const made = await boss.insert(
        queue,
        batch.map((delivery) => ({
          id: delivery.id,
          data: delivery,
          ...(group === undefined ? {} : { singletonKey: groupKeyOf(delivery, group) }),
          ...RETRIES,
        })),
        { returnId: true },
      );
      const ids = new Set(Array.isArray(made) ? (made as unknown[]) : []);
      if (ids.size === 0 && boss.findJobs === undefined) return undefined;
      const isThere = async (id: string): Promise<boolean> =>
        ids.has(id) || (ids.size === 0 && (await boss.findJobs?.(queue, { id }))?.length === 1);
      return Promise.all(
        batch.map(async ({ id }) => ((await isThere(id)) ? TAKEN : { status: "rejected", reason: notTaken(queue) })),
      );
    },
  });
}

/** Policies that keep one job for each key, or for all, drop the others without an error. */
function notTaken(queue: string): Error {
  return new Error(
    `pg-boss dropped the job, as the policy of the queue "${queue}" says. Create it with the policy "standard" or "key_strict_fifo".`,
  );
}

/**
 * The handler for `boss.work`: each job is a delivery. Without `perJobResults` a failure fails the whole batch, as pg-boss does: leave
 * `batchSize` at 1, or set both.
 * @throws UsageError `option-invalid`, `accept-forwards`, `receiver-invalid`
 * @example await boss.work("deliveries", { batchSize: 100, perJobResults: true }, pgBossHandler(receiver, { perJobResults: true }));
 */
export function pgBossHandler(
  receiver: Receiver,
  options: PgBossHandlerOptions & { perJobResults: true },
): (jobs: readonly PgBossJobLike[]) => Promise<PgBossJobResult[]>;
export function pgBossHandler(
  receiver: Receiver,
  options?: PgBossHandlerOptions,
): (jobs: readonly PgBossJobLike[]) => Promise<void>;
export function pgBossHandler(
  receiver: Receiver,
  { perJobResults = false, ...options }: PgBossHandlerOptions = {},
): (jobs: readonly PgBossJobLike[]) => Promise<PgBossJobResult[] | void> {
  const consume = createConsume("pgBossHandler", receiver, options);
  return async (jobs) => {
    const { clear, ...end } = endOf(jobs);
    const consumed = await consume(
      jobs.map(({ data }) => data),
      end,
    ).finally(clear);
    const ended = consumed.map((one, place) => ({ id: jobs[place]?.id ?? "", one }));
    if (perJobResults)
      return ended.map(({ id, one }): PgBossJobResult => {
        if (one.to === "acknowledge") return { id, status: "completed" };
        return { id, status: one.to === "retry" ? "failed" : "deadletter", output: toOutput(one.error) };
      });
    const failed = ended.find(({ one }) => one.to !== "acknowledge");
    if (failed !== undefined && "error" in failed.one) throw failed.one.error;
    return undefined;
  };
}

/** Before pg-boss fails the whole batch: what has ended until then is answered, and only the rest comes again. */
const ANSWER_MS = 1_000;

function endOf([job]: readonly PgBossJobLike[]) {
  const ms = (job?.expireInSeconds ?? 0) * 1_000 - ANSWER_MS;
  if (ms <= 0) return { signal: job?.signal, over: undefined, clear() {} };
  const { promise: over, reject } = Promise.withResolvers<never>();
  void over.catch(() => {}); // nobody may wait for it
  const late = new AbortController();
  const timer = setTimeout(() => {
    const error = new Error("The time of pg-boss is over: `expireInSeconds` of the queue.");
    late.abort(error);
    reject(error);
  }, ms);
  const signal = AbortSignal.any([late.signal, ...(job?.signal ? [job.signal] : [])]);
  return { signal, over, clear: () => clearTimeout(timer) };
}

/** As pg-boss stores it. */
function toOutput(error: unknown): object {
  return error instanceof Error ? { name: error.name, message: error.message } : { message: String(error) };
}
