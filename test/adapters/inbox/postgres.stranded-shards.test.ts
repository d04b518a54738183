import { randomBytes } from "node:crypto";
import { createReceiver } from "hookline";
import type { Claim } from "hookline/adapter";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { schemaSql } from "../../../adapters/inbox/postgres/schema/migrate.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { claimAll, claimOne, done, recordsOf, settleAll, storeAll } from "../../suites/inbox/verbs.ts";
import { eventually } from "../../support/eventually.ts";
import { newDatabase } from "../../support/postgres.ts";
import { openDatabase } from "./in-database.ts";
import { openProcesses, type Process, type Processes } from "./postgres-processes.ts";

/** Longer than any test: nothing is given up for its sake. */
const NEVER_MS = 3_600_000;
const LEASE_MS = 500;

test("the open transaction of a suspended process is ended: what it did is undone, its job runs elsewhere, and no other transaction is touched", async () => {
  const processes = await openProcesses();
  await processes.rows("create table effect (id text)");
  const before = await processes.start({ leaseMs: NEVER_MS });
  await storeAll(before.inbox, mail([{ id: "stuck", lane: "one" }]));
  const stuck = await inTransaction(processes, before, await claimOne(before.inbox));
  await stuck.query("insert into effect values ('stuck')");

  const other = await processes.start({ leaseMs: LEASE_MS });
  await passingOf(other, () => expect(other.inbox.stats().workers?.share).toBe(63 / 64));
  await storeAll(other.inbox, mail([{ id: "own", lane: "two" }]));
  let own: Claim | undefined;
  await passingOf(other, async () => {
    own = (await claimAll(other.inbox)).find((claim) => recordsOf([claim]).flat()[0] === "own");
    expect(own).toBeDefined();
  });
  const living = await inTransaction(processes, other, own!);

  await passingOf(other, () => expect(other.inbox.stats().workers?.share).toBe(1));
  await expect(stuck.query("commit")).rejects.toThrow();
  expect(await processes.rows("select id from effect")).toEqual([]);
  await living.query("commit");
  await passingOf(other, async () => {
    const claim = await claimOne(other.inbox);
    expect(recordsOf([claim])).toEqual([["stuck"]]);
    await settleAll(other.inbox, claim, done);
  });
  expect(other.inbox.stats().standstill).toBeUndefined();
});

test("health() has whose session keeps a dead worker's shard, for as long as it does, and that it is not Hookline's to end", async () => {
  const { connectionString, drop } = await newDatabase();
  onTestFinished(drop);
  const processes = await openProcesses(connectionString);
  await processes.start({ leaseMs: NEVER_MS });
  const holder = await processes.sql.connect();
  onTestFinished(() => holder.release(true));
  await holder.query("set application_name = 'an operator'; begin");
  const { rows } = await holder.query<{ pid: number }>(
    "select pg_backend_pid() as pid from hookline.shard where id in (3, 4) for share",
  );
  const inbox = openDatabase(connectionString, { leaseMs: LEASE_MS, goneMs: LEASE_MS });
  const receiver = createReceiver({ secret: "a secret", inbox, log: false }).on("email", () => {});
  onTestFinished(() => receiver.close().then(() => {}));
  await receiver.start();
  const pid = rows[0]?.pid;
  const problem = {
    code: "no-progress",
    message: expect.stringMatching(
      `The share of worker 1 \\(2 of 64 shards\\) was not started for \\d+ s: .* the session ${pid} \\(an operator\\) holds its row in the table "hookline".shard, idle in transaction since 20[-0-9]+T[:0-9]+Z\\.$`,
    ),
    fix: `End that session: select pg_terminate_backend(${pid}).`,
  };
  await eventually(async () => expect((await receiver.health()).problems).toEqual([problem]));
  for (let look = 0; look < 3; look += 1) expect((await receiver.health()).problems).toEqual([problem]);
  await holder.query("commit");
  await eventually(async () => expect((await receiver.health()).problems).toEqual([]));
  expect(inbox.stats().workers?.share).toBe(1);
});

test("health() has the session of another role's transaction, which this process may not end", async () => {
  const { connectionString, drop } = await newDatabase();
  onTestFinished(drop);
  const processes = await openProcesses(connectionString);
  const before = await processes.start({ leaseMs: NEVER_MS });
  await storeAll(before.inbox, mail(["stuck"]));
  const stuck = await inTransaction(processes, before, await claimOne(before.inbox));
  const { rows } = await stuck.query<{ pid: number }>("select pg_backend_pid() as pid");
  const role = `app_${randomBytes(6).toString("hex")}`;
  await processes.rows(`create role ${role} login password 'p'`);
  onTestFinished(() => processes.sql.query(`drop owned by ${role} cascade; drop role ${role}`).then(() => {}));
  await processes.sql.query(schemaSql({ schema: "hookline", name: "default" }, role));
  const url = new URL(connectionString);
  [url.username, url.password] = [role, "p"];
  const other = await processes.start({ leaseMs: LEASE_MS, connection: { connectionString: url.href } });
  await passingOf(other, () =>
    expect(other.inbox.stats().standstill).toMatchObject({
      of: "The share of worker 1 (1 of 64 shards)",
      cause: {
        code: "permission-missing",
        message: expect.stringMatching(
          `the session ${rows[0]?.pid} \\(the app\\) holds its row in the table "hookline".shard\\. The role of this process may not end`,
        ),
        fix: `End that session: select pg_terminate_backend(${rows[0]?.pid}).`,
      },
    }),
  );
  await stuck.query("commit");
});

/** A transaction of the application, open, in which the jobs of the claim are completed. */
async function inTransaction({ sql }: Processes, { inbox }: Process, claim: Claim): Promise<pg.PoolClient> {
  const client = await sql.connect();
  client.on("error", () => {});
  onTestFinished(() => client.release(true));
  await client.query("set application_name = 'the app'; begin");
  await inbox.transactional!.complete({ claim, jobs: claim.jobs }, client);
  return client;
}

/** Time passes for one process alone: the others are suspended. */
async function passingOf({ clock }: Process, check: () => Promise<void> | void): Promise<void> {
  await eventually(async () => {
    await clock.advance(600);
    await check();
  });
}
