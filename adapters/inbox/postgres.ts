import type { Inbox } from "../../src/index.ts";
import { createPostgresInbox } from "./postgres/postgres-inbox.ts";
import {
  resolvePostgresOptions,
  type PostgresConnection,
  type PostgresInboxOptions,
} from "./postgres/postgres-options.ts";

export type { PostgresConnection, PostgresInboxOptions };
export { pgSeen, type QueryableLike } from "./postgres/pg-seen.ts";
export { complete } from "./postgres/complete.ts";
export {
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromPostgresJs,
  fromPrisma,
  type DrizzleLike,
  type KnexLike,
  type KyselyLike,
  type PostgresJsLike,
  type PrismaLike,
  type TransactionLike,
} from "./postgres/transaction-like.ts";

/**
 * Stores deliveries in a PostgreSQL database of version 14 or newer, in tables that it makes: acknowledged deliveries survive the loss of
 * every machine but the server's. Any number of processes receive and work; each works on a share of the lanes, and takes over that of one
 * that died. It works behind PgBouncer in transaction mode. Needs the package `pg`, and connects at `start()` or at the first delivery.
 * @param connection a text "postgres://...", or what `new pg.Pool()` takes; the pools are the inbox's own, of at most 6 connections
 * @throws UsageError `option-invalid`
 * @example createReceiver({ secret: process.env.SIGNING_SECRET, inbox: postgresInbox("postgres://localhost/app") });
 */
export function postgresInbox(connection: PostgresConnection, options: PostgresInboxOptions = {}): Inbox<"network"> {
  return createPostgresInbox(resolvePostgresOptions(connection, options));
}
