import { randomBytes } from "node:crypto";
import pg from "pg";
import { badServer, namedServer } from "./postgres/named-server.ts";
import { sharedServer } from "./postgres/shared-server.ts";

export { noPgBouncer, startPgBouncer } from "./postgres/start-pgbouncer.ts";
export { startPostgres, type PostgresServer } from "./postgres/start-postgres.ts";

export interface TestDatabase {
  readonly connectionString: string;
  /** Disconnects its clients. */
  drop(): Promise<void>;
}

/** An empty database of the test's own, on a server that all tests share. */
export async function newDatabase(): Promise<TestDatabase> {
  const server = await sharedServer();
  const name = `hookline_test_${randomBytes(6).toString("hex")}`;
  await asSuperuser(server, (client) => client.query(`CREATE DATABASE ${name}`));
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    connectionString: url.href,
    drop: () =>
      asSuperuser(server, async (client) => {
        await sessionsLeave(client, name);
        await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      }),
  };
}

/**
 * Waits for sessions that are about to end, for a second at most: the `end` of a pool does not wait for its connections, and
 * a client that is told of its end while it leaves has nobody who listens for the error.
 */
async function sessionsLeave(client: pg.Client, database: string): Promise<void> {
  const others = "select pg_sleep(0.01) from pg_stat_activity where datname = $1 limit 1";
  for (const until = performance.now() + 1_000; performance.now() < until;)
    if ((await client.query(others, [database])).rowCount === 0) return;
}

async function asSuperuser(server: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: server });
  try {
    await client.connect();
    await work(client);
  } catch (error) {
    if (server !== namedServer().connectionString) throw error;
    throw badServer(server, `${String(error)}, expected a server on which its user may create databases`, error);
  } finally {
    await client.end();
  }
}
