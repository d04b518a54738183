import type { Client, ClientConfig, Pool as PgPool, PoolClient, QueryResult } from "pg";
import { typesOf } from "./column-types.ts";
import { loadDriver } from "./load-driver.ts";
import { isBroken, sqlStateOf } from "./classify-error.ts";
import { noAnswer, notCommitted, notReplicated, READ_ONLY, toStorageError, type Step } from "./to-storage-error.ts";

/** Runs statements. Rejects with a StatementError, which says whether the statement may hold. */
export interface Queries {
  /** `bigint` columns come as numbers, `jsonb` parsed, `bytea` as Buffer. */
  query<R = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<readonly R[]>;
}

/** A few connections of one process to the server. */
export interface Pool extends Queries {
  /** All or nothing, durable once it resolves: rolls back where `run` rejects. */
  transaction<T>(run: (queries: Queries) => Promise<T>): Promise<T>;
  /** Waits for what runs. */
  close(): Promise<void>;
  /** The process may end from now on, even while a statement runs. */
  unref(): void;
}

export interface PoolOptions {
  /** What `new pg.Pool()` takes. Size, types and named statements are the inbox's own. */
  readonly connection: Readonly<Record<string, unknown>>;
  readonly max: number;
  /** For `pg_stat_activity`. */
  readonly applicationName: string;
  /** Until a connection is there. @default 10_000 */
  readonly connectMs?: number;
  /** Until a statement is answered. @default 30_000 */
  readonly answerMs?: number;
  /** In a transaction, until a statement gives up that waits for a lock of others. @default it waits for its answer */
  readonly lockMs?: number;
  /** Shared by the connections of a process, which are to lead to the same server. */
  readonly route?: Route;
}

/** Where connections lead to. */
export interface Route {
  /** Counts how often it led to a server that takes no writes: after a fail-over, what was open before still leads there. */
  changes: number;
}

/**
 * Connects when it is first used, and so do its errors come. No statement leaves anything behind in its session, so that a pooler may give
 * the next one another. An idle connection does not keep the process alive, and stays open: a new one takes longer than a statement.
 */
export function createPool({ connectMs = 10_000, answerMs = 30_000, lockMs, ...rest }: PoolOptions): Pool {
  const options = { route: { changes: 0 }, ...rest };
  const begin = lockMs === undefined ? BEGIN : `${BEGIN}; set local lock_timeout = ${lockMs}`;
  let opening: Promise<PgPool> | undefined;
  let isUnref = false;
  let isClosed = false;

  function open(): Promise<PgPool> {
    opening ??= openPool(options, connectMs);
    return opening;
  }

  async function withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const pool = await open();
    if (isClosed) throw toStorageError(new Error("The connections are closed"), "connect");
    let client = await failsAs("connect", () => pool.connect());
    while (isStale(client)) {
      client.release(true);
      client = await failsAs("connect", () => pool.connect());
    }
    if (isUnref) (client as unknown as Refs).unref();
    try {
      return await work(client);
    } finally {
      client.release(broken.has(client));
    }
  }

  const queriesOn = (client: PoolClient): Queries => ({
    query: async <R>(text: string, values: readonly unknown[] = []) =>
      (await run(client, { text, values, answerMs })).rows as readonly R[],
  });

  return {
    query: (text, values) => withClient((client) => queriesOn(client).query(text, values)),
    transaction: (steps) =>
      withClient(async (client) => {
        await run(client, { text: begin, answerMs });
        try {
          const result = await steps(queriesOn(client));
          const { command } = await run(client, { text: COMMIT, answerMs, step: "commit" });
          if (command !== "COMMIT") throw notCommitted(String(command));
          return result;
        } catch (error) {
          // Where that fails the connection is closed, and the server rolls back by itself.
          if (!broken.has(client)) await run(client, { text: "rollback", answerMs }).catch(() => broken.add(client));
          throw error;
        }
      }),
    async close() {
      if (isClosed) return;
      isClosed = true;
      const pool = await opening?.catch(() => undefined);
      await pool?.end();
    },
    unref() {
      isUnref = true;
      void opening?.then((pool) => {
        for (const client of clientsOf(pool)) client.unref();
      });
    },
  };
}

/** One connection with its session. Once it broke, it stays so. It does not keep the process alive. */
export interface Session extends Queries {
  /** Of the server's process, unless a pooler is in between. */
  readonly processId: number;
  isOpen(): boolean;
  close(): Promise<void>;
}

export async function openSession({
  connectMs = 10_000,
  answerMs = 30_000,
  route = { changes: 0 },
  ...options
}: Omit<PoolOptions, "max">): Promise<Session> {
  const pool = await openPool({ ...options, route, max: 1 }, connectMs);
  const client = await failsAs("connect", () => pool.connect());
  let isEnded = false;
  client.once("end", () => (isEnded = true));
  (client as unknown as Refs).unref();
  return {
    processId: (client as unknown as { readonly processID: number }).processID,
    isOpen: () => !isEnded && !broken.has(client) && !isStale(client),
    query: async <R>(text: string, values: readonly unknown[] = []) =>
      (await run(client, { text, values, answerMs })).rows as readonly R[],
    async close() {
      client.release(true);
      await pool.end();
    },
  };
}

/**
 * The level that the inbox's statements are written for, whatever the role's default is. A process that vanishes in the middle holds its locks
 * no longer than this; without it, until TCP gives up.
 */
const BEGIN = "begin isolation level read committed; set local idle_in_transaction_session_timeout = '15s'";

/** Until its transaction ends, a role that hears of errors alone hears what a commit warns of: without it, who waited for a standby would not know. */
export const HEARS_WARNINGS = "set_config('client_min_messages', 'warning', true)";

/**
 * In one message: a role whose commits are not flushed is overruled, because what is confirmed is on the disk. At the end, because a
 * transaction chooses its isolation before its first query.
 */
const COMMIT = `select ${HEARS_WARNINGS}; select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off'; commit`;

/** Before the first probe of a connection without traffic. NAT and load balancers forget one after minutes. */
const KEEP_ALIVE_MS = 10_000;

async function openPool(
  { connection, max, applicationName, route }: PoolOptions & { readonly route: Route },
  connectMs: number,
): Promise<PgPool> {
  const pg = await loadDriver();
  const types = typesOf(pg.types);
  // A pool's own `connectionTimeoutMillis` also runs while a statement waits for its turn.
  class TimedClient extends pg.Client {
    constructor(config: ClientConfig) {
      super({ ...config, connectionTimeoutMillis: connectMs, ...timeoutOf(connection) });
      // The statement that was running rejects with it; between two statements nothing has failed yet.
      this.on("error", () => {});
      // Without a password the driver would leave it open until the server's time for logging in is over: the process would live as long.
      this.connection.on("error", () => this.connection.stream.destroy());
    }
  }
  const pool = new pg.Pool({
    application_name: applicationName,
    idleTimeoutMillis: 0,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    ...connection,
    connectionTimeoutMillis: undefined,
    allowExitOnIdle: true,
    binary: false,
    pipeline: false,
    max,
    min: 0,
    types,
    Client: TimedClient,
  } as never);
  pool.on("connect", (client) => void routes.set(client, { route, changes: route.changes }));
  pool.on("error", () => {}); // an idle connection broke: the next statement gets a new one
  return pool;
}

function timeoutOf({ connectionTimeoutMillis }: Readonly<Record<string, unknown>>): ClientConfig {
  return typeof connectionTimeoutMillis === "number" ? { connectionTimeoutMillis } : {};
}

/** Connections that are of no more use. */
const broken = new WeakSet<PoolClient>();

/** Of each connection, with its changes when it was opened. */
const routes = new WeakMap<PoolClient, { readonly route: Route; readonly changes: number }>();

/** Others that were opened before, or with it, have met a server that takes no writes. */
function isStale(client: PoolClient): boolean {
  const opened = routes.get(client);
  return opened !== undefined && opened.changes < opened.route.changes;
}

/** It leads to a server that takes no writes: so do those that were opened before it. */
function noteStale(client: PoolClient): void {
  const opened = routes.get(client);
  if (opened !== undefined) opened.route.changes = Math.max(opened.route.changes, opened.changes + 1);
}

interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly answerMs: number;
  readonly step?: Step;
}

/** @throws StatementError, after which the connection may be closed */
async function run(client: PoolClient, { text, values, answerMs, step = "statement" }: Statement) {
  let doubt: string | undefined;
  const onNotice = (notice: Notice): void => {
    doubt ??= doubtOf(notice);
  };
  client.on("notice", onNotice);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(noAnswer(answerMs));
      client.end().catch(() => {});
    }, answerMs).unref();
  });
  try {
    const sent =
      values === undefined || values.length === 0 ? client.query(text) : client.query(text, values as unknown[]);
    sent.catch(() => {}); // it may reject after its time is over
    const result: QueryResult | readonly QueryResult[] = await failsAs(step, () => Promise.race([sent, late]));
    if (doubt !== undefined) throw notReplicated(doubt);
    // The driver gives a result for each of several statements.
    return Array.isArray(result) ? (result.at(-1) as QueryResult) : result;
  } catch (error) {
    if (isBroken(error)) broken.add(client);
    if (sqlStateOf(error) === READ_ONLY) noteStale(client);
    throw error;
  } finally {
    clearTimeout(timer);
    client.off("notice", onNotice);
  }
}

interface Notice {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  readonly routine?: string | undefined;
}

/** A commit that waits for a standby can be cancelled, and then it counts all the same: the server only warns. */
function doubtOf({ code, message = "", routine }: Notice): string | undefined {
  const isWait = routine === "SyncRepWaitForLSN" || /synchronous replication/i.test(message);
  return code === "57P01" || (code === "01000" && isWait) ? message : undefined;
}

async function failsAs<T>(step: Step, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toStorageError(error, step);
  }
}

interface Refs {
  unref(): void;
}

/** `pg` lists them nowhere else. */
function clientsOf(pool: PgPool): readonly Refs[] {
  const { _clients = [] } = pool as unknown as { readonly _clients?: readonly (Client & Refs)[] };
  return _clients;
}
