/** A job for every contender: the same record and the same few bytes. */
export interface QueueJob {
  readonly index: number;
  /** Jobs of one lane are to run in the order of their indexes, where the contender promises an order. */
  readonly lane: string;
  /** Stored with it. @default nothing */
  readonly body?: string;
}

/** What a contender does in a process of its own. */
export interface Queue {
  /** From now on this process makes the jobs of what it stores, and runs none. Undefined: it always does. */
  makeJobs?(): Promise<void>;
  /** Everything that can be done before the clock runs. */
  prepare(jobs: readonly QueueJob[]): unknown;
  /** Resolves when what `prepare` gave is durable. */
  insert(prepared: unknown): Promise<void>;
  work(handle: (index: number) => void): Promise<void>;
  /** Ends after the jobs that run now. */
  close(): Promise<void>;
}

/** The default export of a contender's file. */
export type OpenQueue = (connection: string) => Promise<Queue>;

/** A contender, in `servers/`. */
export interface QueueContender {
  readonly name: string;
  readonly title: string;
  readonly file: string;
  readonly server: "postgres" | "redis";
  readonly ordered: boolean;
}

export const QUEUES = [
  {
    name: "hookline",
    title: "hookline",
    file: "queue-hookline.ts",
    server: "postgres",
    ordered: true,
  },
  {
    name: "pg-boss",
    title: "pg-boss, key_strict_fifo",
    file: "queue-pg-boss.mjs",
    server: "postgres",
    ordered: true,
  },
  {
    name: "graphile-worker",
    title: "graphile-worker, unordered",
    file: "queue-graphile-worker.mjs",
    server: "postgres",
    ordered: false,
  },
  {
    name: "bullmq",
    title: "BullMQ, unordered",
    file: "queue-bullmq.mjs",
    server: "redis",
    ordered: false,
  },
] as const satisfies readonly QueueContender[];
