import { createReceiver, type AnyEvent, type Context, type Receiver, type ReceiverOptions } from "hookline";
import type { JobOutcome } from "hookline/adapter";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { complete } from "../../../adapters/inbox/postgres/complete.ts";
import { toLogger } from "../../../src/logger.ts";
import { testClock } from "../../../src/testing/test-clock.ts";
import { startNode } from "../../cli/child.ts";
import { mail, one } from "../../suites/inbox/deliveries.ts";
import { claimAll, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
import { wallClock } from "../../suites/inbox/wall-clock.ts";
import { eventually } from "../../support/eventually.ts";
import { idOf } from "../../support/rig.ts";
import { bodyOf, change, signedRequest } from "../../support/make-delivery.ts";
import { newDatabase } from "../../support/postgres.ts";
import { openDatabase } from "./in-database.ts";

const LEASE_MS = 1_000;
const COUNT = 20;

test("a transaction that is open for three leases stops nothing else of its worker, which keeps the shard", async () => {
  const { app, receiver, send } = await database();
  let isOver = false;
  const attempts: number[] = [];
  const handle = async (event: AnyEvent, ctx: Context): Promise<void> => {
    if (idOf(event) !== "long") return;
    attempts.push(ctx.attempt);
    await inTransaction(app, idOf(event), async (client) => {
      await complete(ctx, client);
      await eventually(() => expect(isOver).toBe(true));
    });
  };
  const first = receiver(handle);
  await first.start();
  await send(first, ["long"]);
  await eventually(() => expect(attempts).toEqual([1]));
  // Who could take over, and takes half of the shards.
  const second = receiver(handle);
  await second.start();
  await eventually(async () => expect(await ownersOf(app)).toHaveLength(2));
  const [{ id: worker, beat } = { id: 0, beat: 0 }] = await ownerOfOldest(app);

  for (let lease = 0; lease < 3; lease += 1) {
    const begun = await timeOf(app);
    await eventually(async () => expect(await timeOf(app)).toBeGreaterThan(begun + LEASE_MS));
    const before = succeeded(first);
    await send(
      first,
      Array.from({ length: COUNT }, (_, index) => `${lease}-${index}`),
    );
    await eventually(() => expect(succeeded(first) + succeeded(second)).toBe((lease + 1) * COUNT));
    expect(succeeded(first)).toBeGreaterThan(before);
  }
  expect(await ownerOfOldest(app)).toEqual([{ id: worker, beat: expect.any(Number), alive: true }]);
  expect((await ownerOfOldest(app))[0]!.beat).toBeGreaterThan(beat);
  expect(await effectsIn(app)).toEqual([]);
  expect(attempts).toEqual([1]);

  isOver = true;
  await eventually(() => expect(succeeded(first) + succeeded(second)).toBe(3 * COUNT + 1));
  expect(await effectsIn(app)).toEqual(["long"]);
  expect(attempts).toEqual([1]);
  expect((await app.query("select from hookline.job")).rows).toEqual([]);
});

test.each<[what: string, outcome: JobOutcome]>([
  ["done", { to: "done" }],
  ["tried again", { to: "retry", at: 0, delayMs: 0, counted: true, error: { name: "Error", message: "no", at: 0 } }],
])("a job that is %s while somebody holds its row is settled later, and stops nothing else", async (_what, outcome) => {
  const { app, inbox, claims, holding } = await withHeldRow();
  const { beat } = (await ownerOfOldest(app))[0]!;

  const settling = claims.map((claim) => inbox.settle([{ claim, outcomes: [outcome] }]));
  const ended: string[] = [];
  for (const [index, claim] of claims.entries())
    void settling[index]?.then(() => ended.push(...recordsOf([claim]).flat()));
  await eventually(() => expect(ended).toEqual(["a"]));
  await eventually(async () => expect((await ownerOfOldest(app))[0]!.beat).toBeGreaterThan(beat + 3));
  expect(ended).toEqual(["a"]);

  await holding.query("rollback");
  expect(await Promise.all(settling)).toEqual([[true], [true]]);
  const { rows } = await app.query<{ attempts: number }>("select attempts from hookline.job order by id");
  expect(rows).toEqual(outcome.to === "done" ? [] : [{ attempts: 1 }, { attempts: 1 }]);
});

test("a job that is settled together with one whose row somebody holds is known to be settled when it is asked for alone", async () => {
  const { app, inbox, claims, holding } = await withHeldRow();
  const settlements = claims.map((claim) => ({ claim, outcomes: [{ to: "done" } as const] }));
  const settling = inbox.settle(settlements);
  await eventually(async () => expect((await app.query("select from hookline.job")).rowCount).toBe(1));
  const a = settlements.find(({ claim }) => recordsOf([claim]).flat()[0] === "a");
  expect(await inbox.settle([a!])).toEqual([true]);
  await holding.query("rollback");
  expect(await settling).toEqual([true, true]);
});

test("a job that is asked for again while somebody holds its row gets the answer of the first time", async () => {
  const { app, inbox, claims, holding } = await withHeldRow();
  const settlements = claims.map((claim) => ({ claim, outcomes: [{ to: "done" } as const] }));
  const settling = inbox.settle(settlements);
  await eventually(async () => expect((await app.query("select from hookline.job")).rowCount).toBe(1));
  const b = settlements.find(({ claim }) => recordsOf([claim]).flat()[0] === "b");
  const again = inbox.settle([b!]);
  await holding.query("rollback");
  expect(await again).toEqual([true]);
  expect(await settling).toEqual([true, true]);
});

test("while somebody holds the row of a job that has run, health() says so for as long, and the job counts in the end", async () => {
  const { app, receiver, send } = await database();
  const clock = testClock();
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const seen: string[] = [];
  const handling = receiver(
    async (event) => {
      seen.push(idOf(event));
      await ended;
    },
    { clock },
  );
  await handling.start();
  await send(handling, ["a"], new Date(clock.now()));
  await eventually(() => expect(seen).toEqual(["a"]));
  const holding = await app.connect();
  onTestFinished(() => holding.release());
  await holding.query("begin");
  await holding.query("select from hookline.job for update");
  end();
  const problems: boolean[] = [];
  for (let seconds = 0; seconds < 60; seconds += 1) {
    await clock.advance(1_000);
    await app.query("select 1"); // so long as a step takes
    problems.push((await handling.health()).problems.some(({ code }) => code === "no-progress"));
  }
  expect(problems.slice(20)).toEqual(Array.from({ length: 40 }, () => true));
  await holding.query("rollback");
  await eventually(async () => {
    await clock.advance(1_000);
    expect(succeeded(handling)).toBe(1);
    // A call that was on its way for all of these seconds failed, and is made again.
    expect((await handling.health()).problems).toEqual([]);
  });
});

test("a process that is killed within its transaction has done nothing: another one runs the job, once", async () => {
  const { app, connectionString, receiver, send } = await database();
  const killed = startNode(["test/adapters/inbox/transaction-process.ts", connectionString, String(LEASE_MS)]);
  await killed.says("out", /started/);
  const attempts: number[] = [];
  const second = receiver(async (event, ctx) => {
    attempts.push(ctx.attempt);
    await inTransaction(app, idOf(event), (client) => complete(ctx, client));
  });
  await send(second, ["long"]);
  await killed.says("out", /open/);
  await second.start();
  killed.kill("SIGKILL");
  await killed.ended;
  await eventually(() => expect(succeeded(second)).toBe(1));
  expect(attempts).toEqual([2]);
  expect((await app.query("select id, by from effect")).rows).toEqual([{ id: "long", by: "test" }]);
});

/** An inbox whose two jobs are claimed, of which somebody holds the row of `b`. */
/** Its clock goes on by itself: an end whose row is held is tried again after a pause. */
async function withHeldRow() {
  const { app, connectionString } = await database();
  const clock = wallClock();
  const ticking = setInterval(() => void clock.advance(100), 20);
  onTestFinished(() => clearInterval(ticking));
  const inbox = openDatabase(connectionString);
  onTestFinished(() => inbox.close());
  await inbox.open({ name: "default", clock, log: toLogger(false), dedupeWindowMs: 86_400_000 });
  await inbox.work({ begin() {}, end() {}, wake() {}, lost() {} });
  await storeAll(inbox, mail([one("a"), { id: "b", lane: "default other" }]));
  const claims = await claimAll(inbox);
  const holding = await app.connect();
  onTestFinished(() => holding.release());
  await holding.query("begin");
  await holding.query("select from hookline.job where lane = 'default other' for update");
  return { app, inbox, claims, holding };
}

/** The server's, in milliseconds. */
async function timeOf(app: pg.Pool): Promise<number> {
  const { rows } = await app.query<{ now: number }>(
    "select (extract(epoch from clock_timestamp()) * 1000)::float8 as now",
  );
  return rows[0]!.now;
}

async function ownersOf(app: pg.Pool): Promise<readonly unknown[]> {
  return (await app.query("select distinct owner from hookline.shard where owner is not null")).rows;
}

/** The worker whose share the oldest job is in. */
async function ownerOfOldest(app: pg.Pool) {
  const { rows } = await app.query<{ id: number; beat: number; alive: boolean }>(
    `select worker.id::int, beat::int, alive from hookline.job join hookline.shard on shard.id = job.shard
     join hookline.worker on worker.id = shard.owner where job.id = (select min(id) from hookline.job)`,
  );
  return rows;
}

async function effectsIn(app: pg.Pool): Promise<readonly string[]> {
  return (await app.query<{ id: string }>("select id from effect")).rows.map(({ id }) => id);
}

async function inTransaction(app: pg.Pool, id: string, run: (client: pg.PoolClient) => Promise<void>): Promise<void> {
  const client = await app.connect();
  try {
    await client.query("begin");
    await client.query("insert into effect values ($1, 'test')", [id]);
    await run(client);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}

function succeeded(receiver: Receiver): number {
  return receiver.stats().succeeded;
}

async function database() {
  const { connectionString, drop } = await newDatabase();
  const app = new pg.Pool({ connectionString, max: 4 });
  const receivers: Receiver[] = [];
  onTestFinished(async () => {
    await Promise.all(receivers.map((each) => each.close({ drainMs: 0 })));
    await app.end();
    await drop();
  });
  await app.query("create table effect (id text, by text)");
  return {
    app,
    connectionString,
    receiver(
      handle: (event: AnyEvent, ctx: Context) => Promise<void>,
      options: Pick<ReceiverOptions, "clock"> = {},
    ): Receiver {
      const inbox = openDatabase(connectionString, { leaseMs: LEASE_MS, goneMs: LEASE_MS });
      const own = createReceiver({ secret: "a secret", inbox, log: false, ...options }).on("email", handle, {
        merge: false,
      });
      receivers.push(own);
      return own;
    },
    async send(to: Receiver, ids: readonly string[], at = new Date()): Promise<void> {
      const body = bodyOf({ payloads: ids.map((id) => change(id)) });
      const answer = await to.receive(signedRequest(body, { secret: "a secret", at }));
      expect(answer).toMatchObject({ status: 200 });
    },
  };
}
