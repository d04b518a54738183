import { StorageError } from "../../../../src/adapter.ts";
import { sqlStateOf } from "./classify-error.ts";
import { oneRow } from "./one-row.ts";
import type { Queries } from "./pool.ts";
import { WRITABLE } from "./to-storage-error.ts";

/** The oldest version that is still maintained. */
const OLDEST_VERSION = 14;

interface Server {
  readonly version: number;
  readonly product: string;
  readonly isReplica: boolean;
  readonly isReadOnly: boolean;
  readonly fsync: string;
  readonly fullPageWrites: string;
  /** Storage of its own kind: what is confirmed is on several machines, whatever `fsync` says. */
  readonly isNeon: boolean;
  readonly isolation: string;
  readonly encoding: string;
}

/**
 * Refuses a server on which what the inbox confirms would not be durable, or not in order.
 * @throws StorageError `server-unsupported`, `server-read-only`, `server-unsafe`
 */
export async function assertServer(queries: Queries): Promise<void> {
  const refused = flawOf(await oneRow<Server>(queries, STATE));
  if (refused !== undefined) throw refused;
  await assertHashes(queries);
}

/** PostgreSQL's code for what its own libraries refuse. */
const INTERNAL_ERROR = "XX000";

/** Keys of lanes and subscriptions are hashes: without them stores and retries would fail one by one, and later. */
async function assertHashes(queries: Queries): Promise<void> {
  try {
    await queries.query("select md5('')");
  } catch (error) {
    if (sqlStateOf(error) !== INTERNAL_ERROR) throw error;
    throw unsupported("The server does not compute `md5('')`, which the inbox needs for keys (not for security).", {
      cause: error,
      fix: "Run PostgreSQL on a machine that is not in FIPS mode, or with an OpenSSL that still has MD5.",
    });
  }
}

/**
 * For connections that only read: after a fail-over they may lead to what is a standby now, and would never notice. It fails as a write there does.
 * @throws StorageError `server-read-only`
 */
export async function assertWritable(queries: Queries): Promise<void> {
  await queries.query(/* sql */ `do $$ begin if current_setting('transaction_read_only') = 'on' then
       raise read_only_sql_transaction using message = 'transaction_read_only is on'; end if; end $$`);
}

const STATE = /* sql */ `
select current_setting('server_version_num')::int / 10000 as version, version() as product, pg_is_in_recovery() as "isReplica",
  current_setting('transaction_read_only') = 'on' as "isReadOnly", current_setting('fsync') as fsync,
  current_setting('full_page_writes') as "fullPageWrites", current_setting('neon.timeline_id', true) is not null as "isNeon",
  current_setting('default_transaction_isolation') as isolation, current_setting('server_encoding') as encoding`;

/** Only its own code has the locks, the functions and the isolation that the inbox is made for. */
const IS_POSTGRES = /^PostgreSQL (?!.*-YB-)/;

function flawOf(server: Server): StorageError | undefined {
  const { version, product, isolation, encoding } = server;
  if (!IS_POSTGRES.test(product) || version < OLDEST_VERSION)
    return unsupported(`The server is ${product.slice(0, 60)}, expected PostgreSQL ${OLDEST_VERSION} or newer.`, {
      fix: "Use a maintained version of PostgreSQL, or a service that runs its code.",
    });
  if (server.isReplica)
    return new StorageError("server-read-only", "The server is a standby, expected one that takes writes.", {
      fix: WRITABLE,
    });
  if (server.isReadOnly)
    return new StorageError("server-read-only", "The role or the database only reads: `transaction_read_only` is on.", {
      fix: "Run `begin read write; alter role CURRENT_USER set default_transaction_read_only = off; commit`, or connect to the primary.",
    });
  if (!server.isNeon)
    for (const [name, value] of [
      ["fsync", server.fsync] as const,
      ["full_page_writes", server.fullPageWrites] as const,
    ])
      if (value !== "on")
        return new StorageError(
          "server-unsafe",
          `The server has \`${name}\` ${value}, expected on: a power cut would lose deliveries that were acknowledged, or the database.`,
          { fix: `Set \`${name} = on\` in postgresql.conf, and reload the server.` },
        );
  if (isolation !== "read committed")
    return unsupported(
      `The role or the database has default_transaction_isolation "${isolation}", expected "read committed".`,
      {
        fix: "Run `alter role CURRENT_USER set default_transaction_isolation = 'read committed'`.",
      },
    );
  if (encoding !== "UTF8")
    return unsupported(`The database has the encoding ${encoding}, expected UTF8.`, {
      fix: "Create a database with `encoding 'UTF8' template template0`, and connect to that one.",
    });
  return undefined;
}

function unsupported(message: string, options: { readonly fix: string; readonly cause?: unknown }): StorageError {
  return new StorageError("server-unsupported", message, options);
}
