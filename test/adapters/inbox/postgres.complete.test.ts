import { fakeContext } from "hookline/testing";
import type { Claim, ClaimedJob } from "hookline/adapter";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { complete, createTransactions } from "../../../adapters/inbox/postgres/complete.ts";
import { oneRow } from "../../../adapters/inbox/postgres/connection/one-row.ts";
import { createPool, type Pool, type Queries } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { prepareSchema } from "../../../adapters/inbox/postgres/schema/migrate.ts";
import { DATABASE } from "../../../adapters/inbox/postgres/schema/tables.ts";
import { eventually } from "../../support/eventually.ts";
import { newDatabase, type TestDatabase } from "../../support/postgres.ts";
import { emails, rig } from "../../support/rig.ts";
import { stubInbox } from "../../support/stub-inboxes.ts";

const ME = 7;
const SHARD = 3;
const pause = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

let database: TestDatabase;
let pool: Pool;
let ident: string;
/** Where the worker is registered. */
let home: string;

beforeAll(async () => {
  database = await newDatabase();
  pool = createPool({ connection: { ...database }, max: 3, applicationName: "hookline test" });
  ident = await prepareSchema(pool, { schema: "hookline", name: "default", migrate: true });
  home = (await oneRow<{ home: string }>(pool, `select ${DATABASE} as home`)).home;
  await pool.query("create table effect (job bigint)");
});
afterAll(async () => {
  await pool.close();
  await database.drop();
});
beforeEach(async () => {
  await pool.query("truncate effect");
  await fill(pool);
});

/** Jobs of this worker, and no others. */
async function fill(queries: Queries): Promise<void> {
  await queries.query(`truncate ${ident}.job`);
  await queries.query(`update ${ident}.shard set owner = $1`, [ME]);
  for (const id of [11, 12, 13])
    await queries.query(
      `insert into ${ident}.job (shard, id, writer, day, delivery, entry, type, consumer, received_at) values ($1, $2, 1, 1, 1, 0, 'email.created', 'default', 0)`,
      [SHARD, id],
    );
}

describe("a transaction of the application", () => {
  test("that commits has its effect, and ends all jobs of the call, and no other", async () => {
    const { transactions, call } = claiming([11, 12]);
    const client = await transaction("insert into effect values (11)");
    await transactions.complete(call, client);
    await client.query("commit");
    expect(await transactions.isCompleted(call)).toBe(true);
    expect([await effects(), await jobs()]).toEqual([[11], [13]]);
  });

  test("ends the jobs of the call only, where the claim has more", async () => {
    const { transactions, call } = claiming([11, 12], [11]);
    const client = await transaction("insert into effect values (11)");
    await transactions.complete(call, client);
    await client.query("commit");
    expect(await transactions.isCompleted(call)).toBe(true);
    expect(await jobs()).toEqual([12, 13]);
  });

  test("that rolls back leaves both as they were", async () => {
    const { transactions, call } = claiming([11]);
    const client = await transaction("insert into effect values (11)");
    await transactions.complete(call, client);
    await client.query("rollback");
    expect(await transactions.isCompleted(call)).toBe(false);
    expect([await effects(), await jobs()]).toEqual([[], [11, 12, 13]]);
  });

  test.each(["commit", "rollback"])("that is open is told as such, until its %s", async (end) => {
    const { transactions, call, looks } = claiming([11]);
    const client = await transaction("insert into effect values (11)");
    await transactions.complete(call, client);
    expect(await transactions.isCompleted(call)).toBeUndefined();
    expect(looks()).toBe(1);
    await client.query(end);
    expect(await transactions.isCompleted(call)).toBe(end === "commit");
  });

  test("does not hold up the heartbeat of its worker, and keeps its shard until it ends", async () => {
    const { transactions, call } = claiming([11]);
    const client = await transaction("insert into effect values (11)");
    await transactions.complete(call, client);
    await pool.query(`insert into ${ident}.worker default values`);
    await pool.query(`update ${ident}.worker set beat = beat + 1`);
    const free = `select id from ${ident}.shard where owner = $1 for update skip locked`;
    expect(await pool.query(free, [ME])).toHaveLength(64);
    await client.query("commit");
    expect(await pool.query(free, [ME])).toHaveLength(65);
  });
});

describe("without an open transaction nothing is ended, and the call says so:", () => {
  test("on a pool", async () => {
    const app = new pg.Pool({ ...database, max: 2 });
    onTestFinished(() => app.end());
    await refusesFor(app as never);
  });

  test("on a client before begin, and after commit", async () => {
    const client = await transaction("select 1");
    await client.query("commit");
    await refusesFor(client);
  });

  test("on a pool of which one client has a transaction open", async () => {
    const app = new pg.Pool({ ...database, max: 2 });
    onTestFinished(() => app.end());
    const client = await app.connect();
    onTestFinished(() => client.release());
    await client.query("begin");
    const turns = [client, app];
    await refusesFor({ query: (text, values) => turns.shift()!.query(text, values) });
  });

  async function refusesFor(tx: Parameters<typeof complete>[1]): Promise<void> {
    const { transactions, call } = claiming([11]);
    await expect(transactions.complete(call, tx)).rejects.toMatchObject({
      name: "HooklineError",
      code: "not-transactional",
      message: expect.stringContaining("No transaction is open"),
    });
    expect(await jobs()).toEqual([11, 12, 13]);
  }
});

test("a transaction of a role without rights on the tables is told how to get them", async () => {
  const { transactions, call } = claiming([11]);
  const role = "hookline_test_nobody";
  await pool.query(`do $$ begin create role ${role}; exception when duplicate_object then end $$`);
  const client = await transaction(`set local role ${role}`);
  await expect(transactions.complete(call, client)).rejects.toMatchObject({
    name: "StorageError",
    code: "permission-missing",
    message: expect.stringContaining("inbox migrate --print --role ROLE"),
    cause: { code: "42501" },
  });
  await client.query("rollback");
  expect(await jobs()).toEqual([11, 12, 13]);
});

test("a transaction in another database, of the same schema and ids, ends nothing there, and the call says so", async () => {
  const tenant = await newDatabase();
  const other = createPool({ connection: { ...tenant }, max: 1, applicationName: "hookline test" });
  onTestFinished(async () => {
    await other.close();
    await tenant.drop();
  });
  await prepareSchema(other, { schema: "hookline", name: "default", migrate: true });
  await fill(other);
  const { transactions, call } = claiming([11]);
  const client = await transaction("select 1", tenant);
  await expect(transactions.complete(call, client)).rejects.toMatchObject({
    name: "HooklineError",
    code: "not-transactional",
    message: expect.stringMatching(
      /^The transaction is in the database hookline_test_.*, expected the inbox's, hookline_test_/,
    ),
  });
  await client.query("commit");
  expect([await jobs(other), await jobs()]).toEqual([
    [11, 12, 13],
    [11, 12, 13],
  ]);
  expect(await transactions.isCompleted(call)).toBe(false);
});

describe("a claim that was lost refuses the transaction, and nothing happened once that rolls back:", () => {
  test("another worker owns the shard", async () => {
    const { transactions, call } = claiming([11]);
    await pool.query(`update ${ident}.shard set owner = 8 where id = $1`, [SHARD]);
    await refuses(transactions.complete(call, await transaction("insert into effect values (11)")));
  });

  test("another worker takes the shard at that moment", async () => {
    const { transactions, call } = claiming([11]);
    const taking = await transaction(`update ${ident}.shard set owner = 8 where id = ${SHARD}`);
    const client = await transaction("insert into effect values (11)");
    const refused = refuses(transactions.complete(call, client));
    await eventually(async () => expect(await pool.query("select 1 from pg_locks where not granted")).not.toEqual([]));
    await taking.query("commit");
    await refused;
  });

  test("one of the jobs was erased", async () => {
    const { transactions, call } = claiming([11, 12]);
    await pool.query(`delete from ${ident}.job where id = 12`);
    await refuses(transactions.complete(call, await transaction("insert into effect values (11)")));
    expect(await jobs()).toEqual([11, 13]);
  });

  test("this process knows that the claim has ended", async () => {
    const { transactions, call, end } = claiming([11]);
    end();
    await refuses(transactions.complete(call, await transaction("insert into effect values (11)")));
    expect(await transactions.isCompleted(call)).toBe(false);
  });

  async function refuses(completing: Promise<void>): Promise<void> {
    await expect(completing).rejects.toMatchObject({ name: "HooklineError", code: "claim-lost" });
    for (const client of open) await client.query("rollback");
    expect(await effects()).toEqual([]);
  }
});

describe("complete", () => {
  const tx = { query: async () => ({ rows: [] }) };

  test.each([
    ["a context of a test", fakeContext()],
    ["anything else", {}],
  ])("refuses %s", async (_, ctx) => {
    await expect(complete(ctx as never, tx)).rejects.toMatchObject({
      name: "HooklineError",
      code: "not-transactional",
    });
  });

  test("refuses a context of another inbox, and the job is tried again", async () => {
    const { receiver, send } = rig();
    receiver.on("email", (_, ctx) => complete(ctx, tx));
    await receiver.start();
    await send(emails("a"));
    await receiver.idle();
    const { jobs: waiting } = await receiver.jobs.list();
    expect(waiting).toMatchObject([
      { state: "waiting", lastError: { message: expect.stringContaining("postgresInbox") } },
    ]);
  });

  test("settles the job of a receiver in the transaction", async () => {
    await pool.query(
      `insert into ${ident}.job (shard, id, writer, day, delivery, entry, type, consumer, received_at)
      values ($1, 2, 1, 1, 1, 0, 'email.created', 'default', 0)`,
      [SHARD],
    );
    const { transactions } = claiming([2]);
    const { receiver, send } = rig({ inbox: stubInbox(() => ({ transactional: transactions })) });
    receiver.on("email", async (_, ctx) => {
      const client = await transaction("insert into effect values (2)");
      await complete(ctx, client);
      await client.query("commit");
    });
    await receiver.start();
    await send(emails("a"));
    await receiver.idle();
    expect([receiver.stats().succeeded, await effects(), await jobs()]).toEqual([1, [2], [11, 12, 13]]);
  });
});

let open: pg.Client[] = [];

async function transaction(statement: string, on = database): Promise<pg.Client> {
  const client = new pg.Client(on);
  open.push(client);
  onTestFinished(async () => {
    open = open.filter((one) => one !== client);
    await client.end();
  });
  await client.connect();
  await client.query("begin");
  await client.query(statement);
  return client;
}

/** A claim of jobs of this worker. */
function claiming(ids: readonly number[], ofCall = ids) {
  const claim = { jobs: ids.map(toJob) } as unknown as Claim;
  const rows = ids.map((id) => ({ shard: SHARD, id }));
  let hasEnded = false;
  let looks = 0;
  const transactions = createTransactions({
    ident: () => ident,
    queries: pool,
    claimed: () => (hasEnded ? undefined : { worker: ME, database: home, rows }),
    completed: () => {},
    pause() {
      looks += 1;
      return pause();
    },
  });
  const end = (): void => void (hasEnded = true);
  return { transactions, call: { claim, jobs: ofCall.map(toJob) }, looks: () => looks, end };
}

function toJob(id: number): ClaimedJob {
  return { id: String(id) } as unknown as ClaimedJob;
}

async function effects(): Promise<readonly number[]> {
  return (await pool.query<{ job: number }>("select job from effect order by 1")).map(({ job }) => job);
}

async function jobs(queries: Queries = pool): Promise<readonly number[]> {
  return (await queries.query<{ id: number }>(`select id from ${ident}.job order by 1`)).map(({ id }) => id);
}
