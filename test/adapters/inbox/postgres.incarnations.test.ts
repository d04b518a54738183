import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { PostgresOptions } from "../../../adapters/inbox/postgres/postgres-inbox.ts";
import type { Claim, Worker, WorkingInbox } from "../../../src/adapter.ts";
import { toLogger } from "../../../src/logger.ts";
import { mail, raw } from "../../suites/inbox/deliveries.ts";
import { claimAll, done, recordsOf, release, storeAll } from "../../suites/inbox/verbs.ts";
import { wallClock, type WallClock } from "../../suites/inbox/wall-clock.ts";
import { eventually } from "../../support/eventually.ts";
import { newDatabase, noPgBouncer, startPgBouncer, type TestDatabase } from "../../support/postgres.ts";
import { openDatabase } from "./in-database.ts";

/** A process whose timers stand still until its clock is moved. */
interface Process {
  readonly inbox: WorkingInbox;
  readonly clock: WallClock;
  readonly lost: Claim[];
}

let database: TestDatabase;
let processes: Process[];
let sql: pg.Pool;

beforeEach(async () => {
  database = await newDatabase();
  sql = new pg.Pool({ ...database, max: 3 });
  processes = [];
});
afterEach(async () => {
  await Promise.all(processes.map(({ inbox }) => inbox.close().catch(() => {})));
  await sql.end();
  await database.drop();
});

async function start(options: Partial<PostgresOptions> = {}): Promise<Process> {
  const clock = wallClock();
  const inbox = openDatabase(database.connectionString, options);
  await inbox.open({ name: "default", clock, log: toLogger(false), dedupeWindowMs: 86_400_000 });
  const lost: Claim[] = [];
  const process = { inbox, clock, lost };
  processes.push(process);
  const worker: Worker = { begin() {}, end() {}, wake() {}, lost: (claims) => void lost.push(...claims) };
  await inbox.work(worker);
  return process;
}

/** Other processes than these stand still. */
async function whileOnly(moving: readonly Process[], check: () => Promise<void> | void): Promise<void> {
  await eventually(async () => {
    for (const { clock } of moving) await clock.advance(600);
    await check();
  });
}

/** It claims what another one had claimed, two jobs, and gives them back. */
async function takesOver(other: Process): Promise<void> {
  const claims: Claim[] = [];
  await whileOnly([other], async () => {
    claims.push(...(await claimAll(other.inbox)));
    expect(claims).toHaveLength(2);
  });
  await other.inbox.settle(claims.map((claim) => ({ claim, outcomes: [release] })));
}

async function beginTransaction(statement: string): Promise<pg.PoolClient> {
  const client = await sql.connect();
  await client.query("begin");
  await client.query(statement);
  return client;
}

async function rowsOf<R>(statement: string): Promise<readonly R[]> {
  return (await sql.query(statement)).rows as R[];
}

test("what a claim reads displaces none of what it need not read", async () => {
  const { inbox } = await start();
  for (let number = 0; number < 30; number += 1)
    await storeAll(inbox, mail([`m${number}`], { filler: "x".repeat(1024 * 1024) }));
  const claims: Claim[] = [];
  for (let found = await claimAll(inbox, { max: 100 }); found.length > 0; found = await claimAll(inbox, { max: 100 }))
    claims.push(...found);
  expect(claims).toHaveLength(30);
});

test("thousands of jobs run at once, and the mark of them fits its row", async () => {
  const { inbox } = await start();
  await storeAll(inbox, mail(Array.from({ length: 3_000 }, (_, number) => `m${number}`)));
  const claims = await claimAll(inbox, { max: 3_000 });
  expect(claims).toHaveLength(3_000);
  const settled = await inbox.settle(claims.map((claim) => ({ claim, outcomes: [done] })));
  expect(settled.every(Boolean)).toBe(true);
});

test("a lane whose handler ended after the take-over, before its process was registered again, is worked there again", async () => {
  const stalled = await start();
  await storeAll(stalled.inbox, mail(["a", "b"]));
  const [first, second] = (await claimAll(stalled.inbox)) as [Claim, Claim];
  const other = await start({ leaseMs: 2_000 });
  await takesOver(other);
  expect(await stalled.inbox.settle([{ claim: first, outcomes: [done] }])).toEqual([false]);
  expect(stalled.lost).toEqual([second]);
  expect(await stalled.inbox.settle([{ claim: second, outcomes: [done] }])).toEqual([false]);
  await other.inbox.close();
  const again: string[] = [];
  await whileOnly([stalled], async () => {
    again.push(...recordsOf(await claimAll(stalled.inbox)).flat());
    expect(again.toSorted()).toEqual(["a", "b"]);
  });
});

test("a lane whose handler runs on after the take-over stays closed in its process until it ends", async () => {
  const stalled = await start();
  await storeAll(stalled.inbox, mail(["a", "b"]));
  const [first, second] = (await claimAll(stalled.inbox)) as [Claim, Claim];
  const other = await start({ leaseMs: 2_000 });
  await takesOver(other);
  expect(await stalled.inbox.settle([{ claim: first, outcomes: [done] }])).toEqual([false]);
  await other.inbox.close();
  const again: string[] = [];
  await whileOnly([stalled], async () => {
    again.push(...recordsOf(await claimAll(stalled.inbox)).flat());
    expect(again).toEqual(recordsOf([first]).flat());
  });
  expect(await stalled.inbox.settle([{ claim: second, outcomes: [done] }])).toEqual([false]);
  expect(recordsOf(await claimAll(stalled.inbox))).toEqual(recordsOf([second]));
});

test("a step that comes behind a later one of its worker changes nothing", async () => {
  await start();
  const work = (step: number, settle: object) =>
    sql.query<{ head: { alive: boolean } }>("select head from hookline.work(1, $1, settle => $2)", [step, settle]);
  expect((await work(1_000, {})).rows[0]?.head.alive).toBe(true);
  await work(999, { leave: [5] });
  expect(await rowsOf("select owner from hookline.shard where id = 5")).toEqual([{ owner: "1" }]);
  await work(1_001, { leave: [5] });
  expect(await rowsOf("select owner from hookline.shard where id = 5")).toEqual([{ owner: null }]);
});

test("a transaction of the application that holds a job of a dead worker holds up that job's lane, and no other", async () => {
  const stalled = await start();
  await storeAll(stalled.inbox, mail(["a", "b"]));
  const claims = await claimAll(stalled.inbox);
  const [{ jobs: [held] }] = claims as [Claim]; // prettier-ignore
  const client = await beginTransaction(
    `select 1 from hookline.job join hookline.shard on shard.id = job.shard where job.id = ${held.id} for update of job for share of shard`,
  );
  const [one, other] = [await start({ leaseMs: 2_000 }), await start({ leaseMs: 2_000 })];
  const seen: string[] = [];
  const look = async (): Promise<void> => {
    for (const { inbox } of [one, other]) seen.push(...recordsOf(await claimAll(inbox)).flat());
  };
  await whileOnly([one, other], async () => {
    await look();
    expect(seen).toHaveLength(1);
  });
  await client.query("rollback");
  client.release();
  await whileOnly([one, other], async () => {
    await look();
    expect(seen.toSorted()).toEqual(["a", "b"]);
  });
});

test("what is stored while the last unexpanded delivery becomes jobs has its own behind them", async () => {
  const { inbox } = await start();
  await storeAll(inbox, raw(mail(["a"])));
  const expanding = await beginTransaction("lock table hookline.unexpanded");
  const storing = inbox.store([mail(["b"])]);
  await eventually(async () => expect(await rowsOf("select from pg_locks where not granted")).not.toEqual([]));
  await expanding.query("delete from hookline.unexpanded");
  const { rows } = await expanding.query<{ base: string }>("select nextval('hookline.block') * 4096 as base");
  await expanding.query("commit");
  expanding.release();
  const [stored] = await storing;
  expect(stored).toMatchObject({ expanded: true });
  expect(Number((stored as { id: string }).id)).toBeGreaterThan(Number(rows[0]?.base));
});

test("the heart beats on while the look at the other workers does not end", async () => {
  const worker = await start();
  const blocking = await beginTransaction("lock table hookline.shard in share mode");
  const beat = async (): Promise<number> => Number((await rowsOf<{ beat: string }>("select beat from hookline.worker"))[0]?.beat); // prettier-ignore
  await worker.clock.advance(600);
  await eventually(async () => expect(await rowsOf("select from pg_locks where not granted")).not.toEqual([]));
  const before = await beat();
  await whileOnly([worker], async () => expect(await beat()).toBeGreaterThan(before + 3));
  await blocking.query("rollback");
  blocking.release();
});

const LOCKS = "select from pg_locks where locktype = 'advisory' and mode = 'ShareLock' and database = (select oid from pg_database where datname = current_database())"; // prettier-ignore

test("the lock by which a worker says that it is there is taken again after its connection broke", async () => {
  const worker = await start();
  expect(await rowsOf(LOCKS)).toHaveLength(1);
  await sql.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'hookline presence' and datname = current_database()"); // prettier-ignore
  await eventually(async () => expect(await rowsOf(LOCKS)).toEqual([]));
  await whileOnly([worker], async () => expect(await rowsOf(LOCKS)).toHaveLength(1));
});

test("a worker that cannot have that lock works, and is not taken for gone", async () => {
  const nowhere = { connectionString: "postgres://nobody@127.0.0.1:1/none" };
  const without = await start({ directConnection: nowhere });
  await storeAll(without.inbox, mail(["a"]));
  const claims = await claimAll(without.inbox);
  const other = await start();
  for (let time = 0; time < 3; time += 1) await other.clock.advance(600);
  expect(await without.inbox.settle(claims.map((claim) => ({ claim, outcomes: [done] })))).toEqual([true]);
});

test.skipIf(noPgBouncer !== undefined)(
  `behind a pooler of transactions there is no such lock ${noPgBouncer ?? ""}`,
  async () => {
    const pooler = await startPgBouncer({ to: database.connectionString, poolMode: "transaction" });
    try {
      await start({ connection: { connectionString: pooler.connectionString } });
      expect(await rowsOf(LOCKS)).toEqual([]);
      expect(await rowsOf("select present from hookline.worker")).toEqual([{ present: false }]);
      await processes.pop()?.inbox.close();
    } finally {
      await pooler.remove();
    }
  },
);
