import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createPool, type Pool, type PoolOptions } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { createReceiver } from "hookline";
import { postgresInbox } from "hookline/postgres";
import { internalsOf } from "../../../src/receiver/internals.ts";
import { eventually } from "../../support/eventually.ts";
import {
  newDatabase,
  noPgBouncer,
  startPgBouncer,
  startPostgres,
  type PostgresServer,
} from "../../support/postgres.ts";

let server: PostgresServer;

beforeAll(async () => {
  // Nobody will ever confirm: only what asks for a standby waits for one.
  const settings = {
    synchronous_standby_names: "nobody",
    synchronous_commit: "off",
    superuser_reserved_connections: 3,
  };
  server = await startPostgres({ settings });
});
afterAll(() => server.remove());

describe("a statement", () => {
  test("gives numbers for bigint, objects for jsonb, bytes for bytea", async () => {
    const [row] = await poolOf().query(
      `select 9007199254740991::bigint as id, '{"a":[1]}'::jsonb as json, $1::bytea as bytes`,
      [Buffer.from("ü")],
    );
    expect(row).toEqual({ id: Number.MAX_SAFE_INTEGER, json: { a: [1] }, bytes: Buffer.from("ü") });
  });

  test("that the server refuses has changed nothing, and the connection goes on", async () => {
    const pool = poolOf({ max: 1 });
    const before = await pidOf(pool);
    await expect(pool.query("select 1 / 0")).rejects.toMatchObject({
      code: "storage-failed",
      message: expect.stringContaining("division by zero (22012)"),
      mayHold: false,
      cause: { code: "22012" },
    });
    expect(await pidOf(pool)).toBe(before);
  });

  test("without an answer may hold; its connection is closed, and the next statement gets another", async () => {
    const pool = poolOf({ max: 1, answerMs: 200 });
    const before = await pidOf(pool);
    await expect(pool.query("select pg_sleep(600)")).rejects.toMatchObject({
      code: "storage-failed",
      message: expect.stringContaining("gave no answer for 0.2 s"),
      mayHold: true,
    });
    expect(await pidOf(pool)).not.toBe(before);
    await poolOf().query("select pg_terminate_backend($1)", [before]);
  });

  test("whose connection is ended from outside may hold; the next one gets another connection", async () => {
    const pool = poolOf({ max: 1 });
    const pid = await pidOf(pool);
    const sleeping = expect(pool.query("select pg_sleep(600)")).rejects.toMatchObject({
      code: "server-unreachable",
      mayHold: true,
      cause: { code: "57P01" },
    });
    await terminate(pid);
    await sleeping;
    expect(await pidOf(pool)).not.toBe(pid);
  });

  test("is not in the way of the next where an idle connection was ended", async () => {
    const pool = poolOf({ max: 1 });
    await terminate(await pidOf(pool));
    await eventually(async () => expect(await pool.query("select 1 as one")).toEqual([{ one: 1 }]));
  });

  test("that a standby did not confirm is not certain, though the server says that it is done", async () => {
    const pool = poolOf({ max: 1 });
    await pool.query("create table confirmed (amount int)");
    const pid = await pidOf(pool);
    const adding = pool.query(
      "do $$ begin set local synchronous_commit = on; insert into confirmed values (1); end $$",
    );
    const uncertain = expect(adding).rejects.toMatchObject({
      code: "storage-failed",
      message: expect.stringContaining("synchronous standby did not confirm"),
      mayHold: true,
    });
    await cancelWaiting(pid);
    await uncertain;
    expect(await pool.query("select amount from confirmed")).toEqual([{ amount: 1 }]);
  });

  test("with a warning of another kind is done", async () => {
    expect(await poolOf().query("do $$ begin raise warning 'low'; end $$")).toEqual([]);
  });
});

describe("a transaction", () => {
  test("is all or nothing", async () => {
    const pool = poolOf({ max: 1 });
    await pool.query("create table stock (amount int)");
    const failing = pool.transaction(async (queries) => {
      await queries.query("set local synchronous_commit = local");
      await queries.query("insert into stock values (1)");
      throw new Error("changed my mind");
    });
    await expect(failing).rejects.toThrow("changed my mind");
    const pid = await pidOf(pool);
    await pool.transaction(async (queries) => {
      await queries.query("set local synchronous_commit = local");
      await queries.query("insert into stock values ($1)", [2]);
    });
    expect(await pool.query("select amount from stock")).toEqual([{ amount: 2 }]);
    expect(await pidOf(pool)).toBe(pid);
  });

  test("sees each commit, or chooses another isolation before its first query", async () => {
    const level = "select current_setting('transaction_isolation') as level";
    const pool = poolOf();
    expect(await pool.transaction((queries) => queries.query(level))).toEqual([{ level: "read committed" }]);
    const other = pool.transaction(async (queries) => {
      await queries.query("set transaction isolation level repeatable read");
      return queries.query(level);
    });
    expect(await other).toEqual([{ level: "repeatable read" }]);
  });

  test.each(["notice", "error"])(
    "is flushed even where the server's default is not to: it waits for the standby, which does not confirm it (client_min_messages %s)",
    async (level) => {
      const connection = { connectionString: server.connectionString, options: `-c client_min_messages=${level}` };
      const pool = poolOf({ max: 1, connection });
      await pool.query("drop table if exists flushed; create table flushed (amount int)");
      const pid = await pidOf(pool);
      const adding = pool.transaction((queries) => queries.query("insert into flushed values (1)"));
      const uncertain = expect(adding).rejects.toMatchObject({ code: "storage-failed", mayHold: true });
      await cancelWaiting(pid);
      await uncertain;
      expect(await pool.query("select amount from flushed")).toEqual([{ amount: 1 }]);
    },
  );

  test("that a failed statement has ended changes nothing, also when the failure was ignored", async () => {
    const ignoring = poolOf().transaction(async (queries) => {
      await queries.query("select 1 / 0").catch(() => {});
    });
    await expect(ignoring).rejects.toMatchObject({ code: "storage-failed", mayHold: false });
  });

  test("whose connection ends between two statements rejects, and does not end the process", async () => {
    const pool = poolOf({ max: 1 });
    const broken = pool.transaction(async (queries) => {
      const [row] = await queries.query<{ pid: number }>("select pg_backend_pid() as pid");
      await terminate(row?.pid ?? 0);
      await queries.query("select 1");
    });
    await expect(broken).rejects.toMatchObject({ code: "server-unreachable" });
    expect(await pool.query("select 1 as one")).toEqual([{ one: 1 }]);
  });
});

test("a statement waits for its turn as long as those before it take, not as long as a connection may", async () => {
  const pool = poolOf({ max: 1, connectMs: 1_000 });
  await pidOf(pool);
  const both = await Promise.all([pool.query("select pg_sleep(1.2)"), pool.query("select 1 as one")]);
  expect(both[1]).toEqual([{ one: 1 }]);
});

test("options of the connection do not change what the inbox needs", async () => {
  const { connectionString } = server;
  const connection = {
    connectionString,
    max: 0,
    min: 5,
    binary: true,
    allowExitOnIdle: false,
    application_name: "crm",
  };
  const pool = createPool({ connection, max: 1, applicationName: "hookline" });
  onTestFinished(() => pool.close());
  const [row] = await pool.query("select 2::bigint as two, current_setting('application_name') as name");
  expect(row).toEqual({ two: 2, name: "crm" });
});

test("once the process may end, statements still run: on connections from before, and on new ones", async () => {
  const [used, fresh] = [poolOf({ max: 1 }), poolOf({ max: 1 })];
  const pid = await pidOf(used);
  used.unref();
  fresh.unref();
  expect(await pidOf(used)).toBe(pid);
  expect(await fresh.query("select 1 as one")).toEqual([{ one: 1 }]);
});

test("after its close a pool refuses, and closing again does nothing", async () => {
  const pool = poolOf();
  await pool.query("select 1");
  await pool.close();
  await pool.close();
  await expect(pool.query("select 1")).rejects.toMatchObject({
    message: expect.stringContaining("closed"),
    mayHold: false,
  });
});

describe.skipIf(noPgBouncer)("behind a pooler of transactions", () => {
  test("statements and transactions pass, with values and without", async () => {
    const database = await newDatabase();
    const bouncer = await startPgBouncer({ to: database.connectionString, poolMode: "transaction" });
    const pool = createPool({ connection: bouncer, max: 2, applicationName: "hookline test" } as never);
    onTestFinished(async () => {
      await pool.close();
      await bouncer.remove();
      await database.drop();
    });
    await pool.query("create table stock (amount bigint)");
    await pool.transaction(async (queries) => {
      await queries.query("insert into stock values ($1)", [1]);
      await queries.query("insert into stock values ($1)", [2]);
    });
    const sums = await Promise.all(
      [1, 2, 3].map((n) => pool.query("select sum(amount)::bigint + $1 as sum from stock", [n])),
    );
    expect(sums.flat()).toEqual([{ sum: 4 }, { sum: 5 }, { sum: 6 }]);
  });

  test("one of statements alone is refused when the inbox opens, with the setting to change", async () => {
    const database = await newDatabase();
    const bouncer = await startPgBouncer({ to: database.connectionString, poolMode: "statement" });
    const receiver = createReceiver({ secret: "s", inbox: postgresInbox(bouncer.connectionString), log: false });
    onTestFinished(async () => {
      await receiver.close();
      await bouncer.remove();
      await database.drop();
    });
    const fix = "Set `pool_mode = transaction` for this database.";
    await expect(internalsOf(receiver).opened()).rejects.toMatchObject({ code: "server-unsupported", fix });
  });
});

function poolOf(options: Partial<PoolOptions> = {}): Pool {
  const connection = { connectionString: server.connectionString };
  const pool = createPool({ connection, max: 2, applicationName: "hookline test", ...options });
  onTestFinished(() => pool.close());
  return pool;
}

async function pidOf(pool: Pool): Promise<number> {
  const [row] = await pool.query<{ pid: number }>("select pg_backend_pid() as pid");
  return row?.pid ?? 0;
}

async function terminate(pid: number): Promise<void> {
  const other = poolOf();
  await eventually(async () => {
    await other.query("select pg_terminate_backend($1)", [pid]);
    expect(await other.query("select 1 from pg_stat_activity where pid = $1", [pid])).toEqual([]);
  });
}

async function cancelWaiting(pid: number): Promise<void> {
  const other = poolOf();
  await eventually(async () => {
    const waits = "select 1 from pg_stat_activity where pid = $1 and wait_event = 'SyncRep'";
    expect(await other.query(waits, [pid])).toHaveLength(1);
  });
  await other.query("select pg_cancel_backend($1)", [pid]);
}
