import type { Contender } from "../contenders.ts";

/** A server that stores on disk before it answers. */
export interface DurableRow extends Contender {
  /** Connections of the client, also for verify only. */
  readonly connections: number;
  /** Additional time of an fsync, milliseconds. @default 0 */
  readonly syncMs?: number;
  /** Measured slices once it is warm. With handlers the load lasts a minute. */
  readonly slices: number;
}

/** In their order in the tables. */
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

interface SqliteRow extends Partial<Pick<DurableRow, "connections" | "syncMs" | "slices">> {
  readonly flags?: readonly ("handler" | "retention")[];
}

function sqlite(name: string, title: string, { flags = [], connections = 64, slices = 10, ...rest }: SqliteRow) {
  const server = ["hookline.ts", "node", "sqlite", ...flags] as const;
  return { name, title, server, signing: "service", kind: "ours", connections, slices, ...rest } as const;
}
