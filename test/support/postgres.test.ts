import { existsSync, mkdtempSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { startNode } from "../cli/child.ts";
import { eventually } from "./eventually.ts";
import { newDatabase, noPgBouncer, startPgBouncer, startPostgres, type PostgresServer } from "./postgres.ts";

const IN_STOCK = { statement: "SELECT sum(amount)::int AS sum FROM stock", rows: [{ sum: 3 }] };

afterEach(() => void vi.unstubAllEnvs());

describe("a server of the test's own", () => {
  let server: PostgresServer;

  beforeAll(async () => {
    server = await startPostgres({ settings: { work_mem: "5MB" } });
    await query(server, "CREATE TABLE stock (amount int)");
    await query(server, "INSERT INTO stock VALUES (1), (2)");
    return server.remove;
  });

  test("answers with its version", async () => {
    const [row] = await query(server, "SELECT version()");
    expect(row?.["version"]).toContain(`PostgreSQL ${server.version}`);
  });

  test("has the settings that were asked for, and else those of a server in production", async () => {
    const names = ["work_mem", "fsync", "full_page_writes", "synchronous_commit"];
    const rows = await query(
      server,
      `SELECT name, current_setting(name) AS value FROM unnest('{${names.join()}}'::text[]) name`,
    );
    expect(rows.map(({ value }) => value)).toEqual(["5MB", "on", "on", "on"]);
  });

  test("sorts text by language, as most servers do", async () => {
    expect(await query(server, "SELECT 'a' < 'B' AS by_language")).toEqual([{ by_language: true }]);
  });

  test.each(["fast", "immediate"] as const)("has its data after a stop in mode %s and a start", async (mode) => {
    await server.stop(mode);
    await expect(query(server, "SELECT 1")).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await server.start();
    expect(await query(server, IN_STOCK.statement)).toEqual(IN_STOCK.rows);
  });

  test("has its data after a kill in the middle of a statement", async () => {
    const client = new pg.Client(server);
    client.on("error", () => {});
    onTestFinished(() => client.end());
    await client.connect();
    await client.query("INSERT INTO stock VALUES (0)");
    const sleeping = client.query("SELECT pg_sleep(600)").catch((error: unknown) => error);
    await server.kill();
    expect(await sleeping).toBeInstanceOf(Error);
    await server.start();
    expect(await query(server, IN_STOCK.statement)).toEqual(IN_STOCK.rows);
  });

  test("may be stopped twice and started twice", async () => {
    await server.stop("fast");
    await server.stop("fast");
    await server.start();
    await server.start();
    expect(await query(server, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("is the one that all tests share when HOOKLINE_TEST_POSTGRES names it", async () => {
    vi.stubEnv("HOOKLINE_TEST_POSTGRES", server.connectionString);
    const { connectionString } = await databaseOfTest();
    expect(new URL(connectionString).host).toBe(new URL(server.connectionString).host);
  });

  test("is refused when HOOKLINE_TEST_POSTGRES names a user who may not create a database", async () => {
    await query(server, "CREATE USER reader PASSWORD 'secret'");
    vi.stubEnv("HOOKLINE_TEST_POSTGRES", server.connectionString.replace(/postgres:\w+@/, "reader:secret@"));
    await expect(newDatabase()).rejects.toThrow(/^HOOKLINE_TEST_POSTGRES is .* permission denied to create database/);
  });
});

test("a server is gone with its folders when it is removed, also after a kill", async () => {
  const parent = mkdtempSync(join(tmpdir(), "hookline-"));
  onTestFinished(() => rm(parent, { recursive: true }));
  const server = await startPostgres({ parent });
  expect(server.dataFolder).toContain(parent);
  await server.kill();
  await server.remove();
  expect(readdirSync(parent)).toEqual([]);
});

test("a server that does not start says why, and leaves no folder", async () => {
  const parent = mkdtempSync(join(tmpdir(), "hookline-"));
  onTestFinished(() => rm(parent, { recursive: true }));
  await expect(startPostgres({ parent, settings: { fsync: "perhaps" } })).rejects.toThrow(/"fsync"/);
  expect(readdirSync(parent)).toEqual([]);
});

test("a server ends when the process that started it is killed, and leaves no folder", async () => {
  const parent = startNode(["test/support/postgres/starting-process.ts"]);
  onTestFinished(() => parent.kill("SIGKILL"));
  const server = await eventually(
    () => JSON.parse(parent.out()) as Pick<PostgresServer, "connectionString" | "dataFolder">,
  );
  await query(server, "SELECT 1");
  parent.kill("SIGKILL");
  await parent.ended;
  await eventually(() => expect(existsSync(server.dataFolder)).toBe(false));
  await expect(query(server, "SELECT 1")).rejects.toMatchObject({ code: "ECONNREFUSED" });
});

describe("the server that all tests share", () => {
  test("gives each test a database that no other sees", async () => {
    const [ours, other] = await Promise.all([databaseOfTest(), databaseOfTest()]);
    await query(ours, "CREATE TABLE stock (amount int)");
    await expect(query(other, "SELECT * FROM stock")).rejects.toThrow('relation "stock" does not exist');
  });

  test("drops a database that still has clients", async () => {
    const database = await newDatabase();
    const client = new pg.Client(database);
    const ended = new Promise((resolve) => client.on("error", resolve));
    await client.connect();
    await database.drop();
    expect(await ended).toMatchObject({ code: "57P01" });
    await expect(query(database, "SELECT 1")).rejects.toThrow("does not exist");
  });

  test.each(["5432", "http://localhost:5432", "/var/empty"])(
    "is not %s: HOOKLINE_TEST_POSTGRES is refused",
    async (value) => {
      vi.stubEnv("HOOKLINE_TEST_POSTGRES", value);
      const message = `HOOKLINE_TEST_POSTGRES is "${value}": expected a connection string, or a folder with \`postgres\` and \`initdb\`. Set it to `;
      await expect(newDatabase()).rejects.toThrow(message);
    },
  );

  test("is named in the error when nothing listens there, without the password", async () => {
    const port = await closedPort();
    vi.stubEnv("HOOKLINE_TEST_POSTGRES", `postgres://someone:pass@word@127.0.0.1:${port}/postgres`);
    const message = `HOOKLINE_TEST_POSTGRES is "postgres://someone:***@127.0.0.1:${port}/postgres": Error: connect ECONNREFUSED`;
    await expect(newDatabase()).rejects.toThrow(message);
  });
});

describe.skipIf(noPgBouncer)(["through PgBouncer", ...(noPgBouncer ? [noPgBouncer] : [])].join(", "), () => {
  test("a statement passes, and in transaction mode two clients share a connection of the server", async () => {
    const database = await databaseOfTest();
    const bouncer = await startPgBouncer({ to: database.connectionString, poolMode: "transaction" });
    onTestFinished(bouncer.remove);
    const [first] = await query(bouncer, "SELECT pg_backend_pid() AS pid, current_database() AS name");
    const [second] = await query(bouncer, "SELECT pg_backend_pid() AS pid, current_database() AS name");
    expect(first).toEqual({ pid: expect.any(Number), name: new URL(database.connectionString).pathname.slice(1) });
    expect(second).toEqual(first);
    await bouncer.remove();
    await expect(query(bouncer, "SELECT 1")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });
});

async function databaseOfTest(): Promise<{ connectionString: string }> {
  const database = await newDatabase();
  onTestFinished(database.drop);
  return database;
}

async function query(to: { connectionString: string }, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(to);
  try {
    await client.connect();
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end();
  }
}

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
