import { once } from "node:events";
import { createServer, Socket, type AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createPool, type Pool, type PoolOptions } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { eventually } from "../../support/eventually.ts";
import { startPostgres, type PostgresServer } from "../../support/postgres.ts";

let server: PostgresServer;

beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

describe("a server that cannot be used is named with what to do:", () => {
  test("nothing listens", async () => {
    const port = await closedPort();
    await expect(connecting({ host: "127.0.0.1", port })).rejects.toMatchObject({
      code: "server-unreachable",
      message: expect.stringContaining(`connect ECONNREFUSED 127.0.0.1:${port}`),
      mayHold: false,
    });
  });

  test("no such host", async () => {
    await expect(connecting({ host: "no-such-host.invalid" })).rejects.toMatchObject({
      code: "server-unreachable",
      mayHold: false,
    });
  });

  test("something accepts and says nothing", async () => {
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    onTestFinished(() => void silent.close());
    await new Promise((resolve) => silent.once("listening", resolve));
    const { port } = silent.address() as AddressInfo;
    await expect(connecting({ host: "127.0.0.1", port }, { connectMs: 100 })).rejects.toMatchObject({
      code: "server-unreachable",
      mayHold: false,
    });
  });

  test("something says nothing for as long as the connection's own option allows", async () => {
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    onTestFinished(() => void silent.close());
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const own = { host: "127.0.0.1", port, connectionTimeoutMillis: 50 };
    await expect(connecting(own, { connectMs: 600_000 })).rejects.toMatchObject({ code: "server-unreachable" });
  });

  test("the password is wrong", async () => {
    const url = server.connectionString.replace(/:\w+@/, ":wrong@");
    await expect(connecting({ connectionString: url })).rejects.toMatchObject({
      code: "login-refused",
      message: expect.stringContaining("(28P01)"),
    });
  });

  test("there is no password", async () => {
    const url = server.connectionString.replace(/:\w+@/, "@");
    const socket = new Socket();
    const stream = () => socket;
    await expect(connecting({ connectionString: url, stream })).rejects.toMatchObject({ code: "login-refused" });
    expect(socket.destroyed).toBe(true); // one that is left open keeps the process alive
  });

  test("there is no such database", async () => {
    const url = server.connectionString.replace(/postgres$/, "nowhere");
    await expect(connecting({ connectionString: url })).rejects.toMatchObject({
      code: "database-missing",
      message: expect.stringContaining('database "nowhere" does not exist'),
      fix: expect.stringContaining("createdb"),
    });
  });

  test("it has no connection to spare", async () => {
    await poolOf().query("create role crowd login password 'crowd' connection limit 0");
    const url = server.connectionString.replace(/postgres:\w+@/, "crowd:crowd@");
    await expect(connecting({ connectionString: url })).rejects.toMatchObject({ code: "too-many-connections" });
  });

  test("it takes no writes", async () => {
    const pool = poolOf({ max: 1 });
    await pool.query("set default_transaction_read_only = on");
    await expect(pool.query("create table never (one int)")).rejects.toMatchObject({
      code: "server-read-only",
      mayHold: false,
    });
  });

  test("the role may not write there", async () => {
    await poolOf().query("create role guest login password 'guest'");
    const url = server.connectionString.replace(/postgres:\w+@/, "guest:guest@");
    await expect(poolOf({ connection: { connectionString: url } }).query("create schema theirs")).rejects.toMatchObject(
      {
        code: "permission-missing",
        fix: expect.stringContaining("inbox migrate --print"),
      },
    );
  });

  test.each(["select * from nowhere.job", "select nowhere.store(1)", "select nothing(1)"])(
    "the schema was dropped: %s",
    async (statement) => {
      await expect(poolOf().query(statement)).rejects.toMatchObject({ code: "schema-missing", mayHold: false });
    },
  );

  test("it is stopped, and it is there again after a start", async () => {
    const pool = poolOf({ max: 1 });
    await pool.query("select 1");
    await server.stop("fast");
    await expect(pool.query("select 1")).rejects.toMatchObject({ code: "server-unreachable" });
    await server.start();
    await eventually(async () => expect(await pool.query("select 1 as one")).toEqual([{ one: 1 }]));
  });
});

function poolOf(options: Partial<PoolOptions> = {}): Pool {
  const connection = { connectionString: server.connectionString };
  const pool = createPool({ connection, max: 2, applicationName: "hookline test", ...options });
  onTestFinished(() => pool.close());
  return pool;
}

function connecting(
  connection: Readonly<Record<string, unknown>>,
  options: Partial<PoolOptions> = {},
): Promise<unknown> {
  return poolOf({ ...options, connection }).query("select 1");
}

async function closedPort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => probe.once("listening", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
