import type { Contender } from "../contenders.ts";

/** A server that stores on disk before it answers. */
export interface DurableRow extends Contender {
  /** Connections of the client, also for verify only. */
  readonly connections: number;
  /** Additional time of an fsync, milliseconds. @default 0 */
  readonly syncMs?: number;
  /** What it stores in, on both cores. @default a folder of its own */
  readonly service?: "postgres" | "redis";
  /** Measured slices once it is warm. With handlers the load lasts a minute. */
  readonly slices: number;
}

/** In their order in the tables, of what is measured by default. */
export const DURABLE: readonly DurableRow[] = [
  {
    name: "transaction-each",
    title: "a transaction a request",
    server: ["transaction-each.ts"],
    signing: "service",
    kind: "by hand",
    connections: 64,
    slices: 5,
  },
  sqlite("sqlite-receive", "SQLite, receiving only", { slices: 5 }),
  sqlite("sqlite-receive-256", "SQLite, receiving only, 256 connections", { connections: 256, slices: 5 }),
  sqlite("sqlite-handler", "SQLite, with a handler", { flags: ["handler"] }),
  sqlite("sqlite-handler-256", "SQLite, with a handler, 256 connections", { flags: ["handler"], connections: 256 }),
  sqlite("sqlite-retention", "SQLite, with a handler and retention", { flags: ["handler", "retention"] }),
  sqlite("sqlite-slow-disk", "SQLite, with a handler, 256, fsync 10 ms slower", {
    flags: ["handler"],
    connections: 256,
    syncMs: 10,
    slices: 5,
  }),
];

/** End to end beside other queues, from the socket to the handler: each is durable before it answers, and handles in the same process. */
export const PEERS: readonly DurableRow[] = [
  { ...sqlite("peers-sqlite", "Hookline, SQLite", { flags: ["handler"] }), slices: 5 },
  {
    ...sqlite("peers-postgres", "Hookline, PostgreSQL", {}),
    server: ["hookline.ts", "node", "postgres", "handler"],
    slices: 5,
    service: "postgres",
  },
  queue("peers-bullmq", "node:http and BullMQ, Redis with appendfsync always", "bullmq", "redis"),
  queue("peers-pg-boss", "node:http and pg-boss, strict FIFO by key", "pg-boss", "postgres"),
  queue("peers-graphile-worker", "node:http and graphile-worker", "graphile-worker", "postgres"),
];

interface SqliteRow extends Partial<Pick<DurableRow, "connections" | "syncMs" | "slices">> {
  readonly flags?: readonly ("handler" | "retention")[];
}

function sqlite(name: string, title: string, { flags = [], connections = 64, slices = 10, ...rest }: SqliteRow) {
  const server = ["hookline.ts", "node", "sqlite", ...flags] as const;
  return { name, title, server, signing: "service", kind: "ours", connections, slices, ...rest } as const;
}

function queue(name: string, title: string, file: string, service: "postgres" | "redis"): DurableRow {
  const server = ["queue-receiver.ts", `queue-${file}.mjs`] as const;
  return { name, title, server, signing: "service", kind: "peer", connections: 64, slices: 5, service };
}
