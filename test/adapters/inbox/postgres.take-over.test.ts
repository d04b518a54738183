import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { createPool } from "../../../adapters/inbox/postgres/connection/pool.ts";
import type { Claim } from "../../../src/adapter.ts";
import { orphaned } from "../../../src/inbox/job-deaths.ts";
import { claimed, FRESH, type Progress } from "../../../src/inbox/job-state.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { claimAll, claimOne, done, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
import { eventually } from "../../support/eventually.ts";
import { newDatabase } from "../../support/postgres.ts";
import { openProcesses } from "./postgres-processes.ts";
import { openTables } from "./postgres-tables.ts";

const NOW = 5_000;

const anyProgress = fc.record({
  deaths: fc.constantFrom(0, 1, 2, 2, 2, 3, 5),
  attempts: fc.nat(9),
  groupMax: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
  firstAttemptAt: fc.option(fc.nat(4_000), { nil: undefined }),
  runAt: fc.constantFrom(0, 9_000),
  delayMs: fc.constantFrom(0, 1_000),
});

test("a take-over makes of what was marked what the rules make of it, and nothing of the rest", async () => {
  const { pool } = await openTables();
  const job = fc.record({
    progress: anyProgress,
    ran: fc.boolean(),
    since: fc.option(fc.nat(4_500), { nil: undefined }),
    shard: fc.nat(63),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(job, { maxLength: 9 }), fc.boolean(), async (jobs, died) => {
      const before: Progress[] = jobs.map(({ progress }) => ({
        ...FRESH,
        ...progress,
        groupMax: progress.deaths < 2 ? undefined : progress.groupMax,
      }));
      const ran = jobs.flatMap((each, index) => (each.ran ? [index] : []));
      await pool.query("delete from hookline.job");
      await pool.query(
        `insert into hookline.job (shard, id, writer, day, delivery, entry, type, consumer, received_at, attempts, deaths, group_max, first_attempt_at, run_at, delay_ms)
         select s, i, 1, 0, 1, 0, 'email.created', 'default', 1, a, d, g, f, r, y from jsonb_to_recordset($1) as j (s int, i bigint, a int, d int, g int, f bigint, r bigint, y bigint)`,
        [
          JSON.stringify(
            before.map(({ attempts: a, deaths: d, groupMax: g, firstAttemptAt: f, runAt: r, delayMs: y }, i) => {
              return { s: jobs[i]!.shard, i, a, d, g, f, r, y };
            }),
          ),
        ],
      );
      const [worker] = await pool.query<{ id: number }>(
        "insert into hookline.worker (beat, running, since) values (7, $1, $2) returning id",
        [ran, ran.map((index) => jobs[index]?.since ?? null)],
      );
      const take = async (beat: number): Promise<unknown> =>
        (await pool.query<{ taken: boolean }>("select hookline.take_over($1, $2, $3, $4) as taken", [worker?.id, beat, NOW, died]))[0]?.taken; // prettier-ignore
      expect([await take(6), await take(7), await take(7)]).toEqual([false, true, false]);
      const orphans = orphaned(ran.map((index) => claimed(before[index]!, jobs[index]?.since ?? NOW)));
      const expected = before.map((each, index) => (ran.includes(index) && died ? orphans[ran.indexOf(index)] : each));
      const rows = await pool.query<Record<string, never>>(
        `select attempts, deaths, group_max as "groupMax", first_attempt_at as "firstAttemptAt", run_at as "runAt", delay_ms as "delayMs" from hookline.job order by id`,
      );
      expect(rows.map(toProgress)).toEqual(expected);
    }),
    { numRuns: 100 },
  );
});

test("a worker whose row another session holds is left to the next look, and the others are taken over from meanwhile", async () => {
  const processes = await openProcesses();
  const stalled = [await processes.start(), await processes.start()];
  const holder = await processes.sql.connect();
  await holder.query("begin");
  await holder.query("select from hookline.worker where id = 1 for update");
  const observer = await processes.start({ leaseMs: 2_000 });
  const alive = async (): Promise<unknown[]> =>
    (await processes.rows<{ id: string }>("select id from hookline.worker where alive order by id")).map(
      ({ id }) => id,
    );
  await eventually(async () => {
    await observer.clock.advance(600);
    expect(await alive()).toEqual(["1", "3"]);
  });
  await holder.query("rollback");
  holder.release();
  await eventually(async () => {
    await observer.clock.advance(600);
    expect(await alive()).toEqual(["3"]);
  });
  expect(stalled.map(({ heard }) => heard.ended)).toEqual([0, 0]);
  expect(observer.log.of("inbox-failed")).toEqual([]); // no lock was waited for
});

test("one that cannot be taken over from keeps nobody from the next one", async () => {
  const processes = await openProcesses();
  await processes.start();
  const other = await processes.start();
  await storeAll(other.inbox, mail(["a", "b", "c", "d"]));
  await processes.sql.query("alter table hookline.worker add constraint none check (id <> 1 or alive) not valid");
  const observer = await processes.start({ leaseMs: 2_000 });
  await eventually(async () => {
    await observer.clock.advance(600);
    expect(await processes.rows("select id from hookline.worker where alive order by id")).toEqual([
      { id: "1" },
      { id: "3" },
    ]);
    expect(observer.log.of("inbox-failed").length).toBeGreaterThan(0);
  });
});

test.each(["data_corrupted", "io_error", "undefined_file", "check_violation", "query_canceled"])(
  "the shards of a worker that died go to others, though the row of a job that it ran fails with %s",
  async (state) => {
    const processes = await openProcesses();
    const dying = await processes.start();
    await storeAll(dying.inbox, mail(["a", "b", "c"]));
    const [claim] = await claimAll(dying.inbox);
    await processes.sql.query(`
      create function hookline.broken() returns trigger language plpgsql as $$ begin raise ${state}; end $$;
      create trigger broken before update on hookline.job for each row when (old.id = ${claim!.jobs[0].id}) execute function hookline.broken()`);
    const { inbox, clock, log } = await processes.start({ leaseMs: 2_000 });
    const claims: Claim[] = [];
    await eventually(async () => {
      await clock.advance(600);
      // Its share is there before its jobs are loaded.
      claims.push(...(await claimAll(inbox)));
      expect([inbox.stats().workers?.share, claims.length]).toEqual([1, 3]);
    });
    expect(claims).toMatchObject(["a", "b", "c"].map(() => ({ jobs: [{ deaths: 0 }] })));
    expect(log.of("inbox-failed").length).toBeGreaterThan(0);
  },
);

test("a transaction of a process that vanished ends after a while, with its locks", async () => {
  const { connectionString, drop } = await newDatabase();
  onTestFinished(drop);
  const pool = createPool({ connection: { connectionString }, max: 1, applicationName: "hookline test" });
  onTestFinished(() => pool.close());
  const [row] = await pool.transaction((queries) =>
    queries.query("select current_setting('idle_in_transaction_session_timeout') as idle"),
  );
  expect(row).toEqual({ idle: "15s" });
});

test("a worker whose last step the server has forgotten loads its jobs anew: none has died, and none runs behind a newer one", async () => {
  const processes = await openProcesses();
  const process = await processes.start();
  await storeAll(process.inbox, mail([{ id: "a", lane: "one" }]));
  await processes.sql.query("create table job_before as select * from hookline.job");
  const before = await processes.rows("select beat, running from hookline.worker");
  const claim = await claimOne(process.inbox);
  expect(await process.inbox.settle([{ claim, outcomes: [done] }])).toEqual([true]);
  // What an asynchronous standby had not got: the claim, and its end.
  await processes.sql.query("begin; insert into hookline.job select * from job_before; commit");
  const { beat, running } = before[0] as { beat: string; running: string };
  await processes.sql.query("update hookline.worker set beat = $1, running = $2", [beat, running]);
  await processes.passing(() => expect(process.heard).toMatchObject({ begun: 2, ended: 1 }));
  expect(process.log.of("history-lost")).toHaveLength(1);
  const alive = "select id from hookline.worker where alive";
  await eventually(async () => expect(await processes.rows(alive)).toEqual([{ id: "2" }]));
  expect(process.log.of("inbox-failed")).toEqual([]);
  await storeAll(process.inbox, mail([{ id: "b", lane: "one" }]));
  const [again] = await claimAll(process.inbox, { mergeMax: 1 });
  expect(recordsOf([again!])).toEqual([["a"]]);
  expect(again!.jobs[0]).toMatchObject({ attempt: 1, deaths: 0 });
});

test("what had an id before the server forgot it is not taken for what has it now", async () => {
  const processes = await openProcesses();
  const process = await processes.start();
  await storeAll(process.inbox, mail(["a"]));
  const [before] = await processes.rows<{ beat: string }>("select beat from hookline.worker");
  const lost = await claimOne(process.inbox);
  await processes.sql.query("update hookline.delivery set body = convert_to(replace(convert_from(body, 'UTF8'), '\"a\"', '\"z\"'), 'UTF8')"); // prettier-ignore
  await processes.sql.query("update hookline.worker set beat = $1", [before!.beat]);
  await processes.passing(() => expect(process.heard.begun).toBe(2));
  expect(await process.inbox.settle([{ claim: lost, outcomes: [done] }])).toEqual([false]);
  const [claim] = await claimAll(process.inbox);
  expect(Buffer.from(claim!.jobs[0].delivery.body).toString()).toContain('"z"');
});

function toProgress(row: Record<string, unknown>): Progress {
  const { groupMax, firstAttemptAt, ...facts } = row as unknown as Progress;
  return { ...FRESH, ...facts, groupMax: groupMax ?? undefined, firstAttemptAt: firstAttemptAt ?? undefined };
}

test("a process that closes after it was taken over, and before it begins anew, leaves no connection open", async () => {
  const processes = await openProcesses();
  const { inbox, clock, heard } = await processes.start();
  const others =
    "select application_name as name from pg_stat_activity where application_name like 'hookline %' and datname = current_database()";
  await processes.passing(async () =>
    expect(await processes.rows(others)).toContainEqual({ name: "hookline presence" }),
  );
  await processes.rows("update hookline.worker set alive = false");
  // Too short for another beginning.
  await clock.advance(600);
  await eventually(() => expect(heard).toMatchObject({ begun: 1, ended: 1 }));
  await inbox.close();
  await eventually(async () => expect(await processes.rows(others)).toEqual([]));
});
