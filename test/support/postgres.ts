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
  await asSuperuser(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    connectionString: url.href,
    drop: () => asSuperuser(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

async function asSuperuser(server: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: server });
  try {
    await client.connect();
    await client.query(statement);
  } catch (error) {
    if (server !== namedServer().connectionString) throw error;
    throw badServer(server, `${String(error)}, expected a server on which its user may create databases`, error);
  } finally {
    await client.end();
  }
}
