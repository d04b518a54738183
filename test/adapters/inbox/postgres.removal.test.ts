import { describe, expect, test } from "vitest";
import { createPostgresJobs } from "../../../adapters/inbox/postgres/jobs/admin.ts";
import { mail, nobodys, notice, ofBody, one, raw } from "../../suites/inbox/deliveries.ts";
import { watch } from "../../support/event-loop.ts";
import { eventually } from "../../support/eventually.ts";
import { claimAll, storeAll } from "../../suites/inbox/verbs.ts";
import { openProcesses } from "./postgres-processes.ts";
import { countIn, idsOf, removals, statesOf, waitsForLock } from "./postgres-rows.ts";
import { openTables } from "./postgres-tables.ts";

describe("drop", () => {
  test("two processes that drop the same jobs count each once, and tell their owners", async () => {
    const tables = await openTables();
    const [first, second] = [tables.join(), tables.join()];
    const worker = await tables.work();
    for (let count = 0; count < 5; count += 1)
      await first.store(mail(Array.from({ length: 100 }, (_, index) => `m-${index}`)));
    const ids = await idsOf(first.jobs);
    await worker.step(ids.slice(0, 3), { [ids[10] ?? ""]: "dead" });
    const counts = await Promise.all([
      first.jobs.drop({ ids }),
      second.jobs.drop({ states: ["waiting", "running", "dead"] }),
      second.jobs.drop({ ids: ids.toReversed() }),
    ]);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(497);
    expect(await idsOf(first.jobs)).toEqual(ids.slice(0, 3));
    expect(await removals(tables)).toEqual(ids.slice(3).filter((_, place) => place !== 7));
  });

  test("a job is replayed or dropped, not both", async () => {
    const tables = await openTables();
    const [first, second] = [tables.join(), tables.join()];
    const worker = await tables.work();
    await first.store(mail(Array.from({ length: 300 }, (_, index) => `m-${index}`)));
    const ids = await idsOf(first.jobs);
    await worker.step([], Object.fromEntries(ids.map((id) => [id, "dead"] as const)));
    const chunks = Array.from({ length: 30 }, (_, index) => ids.slice(index * 10, index * 10 + 10));
    const [replayed, dropped] = await Promise.all(
      [
        chunks.map((some) => first.jobs.replay({ ids: some })),
        chunks.map((some) => second.jobs.drop({ ids: some.toReversed() })),
      ].map(async (counts) => (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)),
    );
    expect((replayed ?? 0) + (dropped ?? 0)).toBe(300);
    expect(await statesOf(first.jobs)).toEqual(Array.from({ length: replayed ?? 0 }, () => "waiting"));
  });

  test("a job that is being replayed is not dropped as well", async () => {
    const tables = await openTables();
    const [made, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const replayer = tables.join(() => {
      made.resolve();
      return commit.promise;
    });
    const dropper = tables.join();
    const worker = await tables.work();
    await dropper.store(mail(["a"]));
    const [id = ""] = await idsOf(dropper.jobs);
    await worker.step([], { [id]: "dead" });
    const replaying = replayer.jobs.replay({ ids: [id] });
    await made.promise;
    const dropping = dropper.jobs.drop({ ids: [id] });
    await waitsForLock(tables);
    commit.resolve();
    expect([await replaying, await dropping]).toEqual([1, 0]);
    expect(await statesOf(dropper.jobs)).toEqual(["waiting"]);
  });

  test("no claim begins of a job that is dropped beside it", async () => {
    const tables = await openTables();
    const { jobs, store } = tables.join();
    const workers = [await tables.work(), await tables.work()];
    await store(mail(Array.from({ length: 400 }, (_, index) => `m-${index}`)));
    const ids = await idsOf(jobs);
    const begun = workers.map(async ({ step }, nth) => {
      const running: string[] = [];
      for (let place = nth; place < 100; place += 2)
        running.push(...(await step([...running, ids[place * 4] ?? ""])).filter((id) => !running.includes(id)));
      return running;
    });
    const dropped = Array.from({ length: 40 }, (_, index) =>
      jobs.drop({ ids: ids.slice(index * 10, index * 10 + 10) }),
    );
    const counts = await Promise.all(dropped);
    const running = (await Promise.all(begun)).flat();
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(400 - running.length);
    expect((await idsOf(jobs)).toSorted()).toEqual(running.toSorted());
  });

  test("a worker that joins while jobs are being dropped gets their shards only afterwards", async () => {
    const tables = await openTables();
    const { pool, ident } = tables;
    const owned = (id: number) => pool.query(`select from ${ident}.shard where owner = $1`, [id]);
    await pool.transaction(async (queries) => {
      await queries.query(`select ${ident}.lock_workers()`);
      const { id } = await tables.work();
      expect(await owned(id)).toHaveLength(0);
    });
    expect(await owned((await tables.work()).id)).toHaveLength(65);
  });

  test("what has left the selected states meanwhile stays, and so does what another transaction holds", async () => {
    const tables = await openTables();
    const { jobs, store } = tables.join();
    const worker = await tables.work();
    await store(mail(["held", "dead", "waiting"]));
    const [held = "", dead = "", waiting = ""] = await idsOf(jobs);
    await worker.step([], { [dead]: "dead" });
    const { pool, ident } = tables;
    await pool.transaction(async (queries) => {
      await queries.query(`select from ${ident}.job where id = $1 for update`, [held]);
      const [row] = await pool.query(`select ${ident}.drop_jobs($1, true, false, false) as dropped`, [
        [held, dead, waiting],
      ]);
      expect(row).toEqual({ dropped: 1 });
    });
    expect(await idsOf(jobs)).toEqual([held, dead]);
  });

  test("what a lane inherited is forgotten with the last job that had inherited it", async () => {
    const tables = await openTables();
    const { jobs, store } = tables.join();
    await store(mail([one("a"), one("b"), "other"]));
    const [a = "", b = "", other = ""] = await idsOf(jobs);
    const { pool, ident } = tables;
    await pool.query(
      `insert into ${ident}.lane_window (shard, lane, since, up_to, key) select shard, lane, 1, greatest(id, $1), md5(lane) from ${ident}.job where id in ($2, $3)`,
      [b, a, other],
    );
    await jobs.drop({ ids: [a] });
    expect(await countIn(tables, "lane_window")).toBe(2);
    await jobs.drop({ ids: [b] });
    expect(await countIn(tables, "lane_window")).toBe(1);
  });

  test("what lanes inherited is not looked at while it locks the workers: it goes afterwards, or with the next removal", async () => {
    const tables = await openTables();
    const { jobs, store } = tables.join();
    await store(mail([one("a"), "other"]));
    const [a = "", other = ""] = await idsOf(jobs);
    const { pool, ident } = tables;
    await pool.query(
      `insert into ${ident}.lane_window (shard, lane, since, up_to, key) select shard, lane, 1, id, md5(lane) from ${ident}.job where id = $1`,
      [a],
    );
    await pool.transaction(async (queries) => {
      await queries.query(`lock table ${ident}.lane_window in access exclusive mode`);
      expect(await jobs.drop({ ids: [a] })).toBe(1);
    });
    expect(await countIn(tables, "lane_window")).toBe(1);
    expect(await jobs.drop({ ids: [other] })).toBe(1);
    expect(await countIn(tables, "lane_window")).toBe(0);
  });
});

describe("erase", () => {
  test("all of the account goes: in any state, of any day, unexpanded, expanded later, replayed, and its notices", async () => {
    const tables = await openTables();
    const { jobs, store, expand } = tables.join();
    const worker = await tables.work();
    const theirs = { accountId: 7 };
    await store(
      mail(["done", "dead", "running", nobodys("nobody's")], theirs),
      notice("in trouble", theirs),
      notice("x"),
    );
    const [done = "", dead = "", running = ""] = await idsOf(jobs, theirs);
    await worker.step([running], { [done]: "done", [dead]: "dead" });
    expect(await jobs.replay({ ids: [done, dead] })).toBe(2);
    await tables.pool.query(`update ${tables.ident}.delivery set day = 0 where id % 2 = 1`);
    await tables.pool.query(`update ${tables.ident}.job_list set day = 0 where delivery % 2 = 1`);
    const late = mail(["later", "still later"], theirs);
    const [expanded = "", half = ""] = await store(
      raw(late),
      raw(late),
      raw(mail(["unexpanded"], theirs)),
      raw(mail(["other"])),
    );
    await expand(worker.id, { id: expanded, events: late.events, cursor: undefined });
    await expand(worker.id, { id: half, events: late.events.slice(0, 1), cursor: 1 });
    const open = await idsOf(jobs, { ...theirs, states: ["waiting", "running"] });
    // running, nobody's, the notice's job, two replays, two of the expanded delivery, one and the rest of the half one, the unexpanded one
    expect((await jobs.erase(7)).count).toBe(10);
    expect(await idsOf(jobs, theirs)).toEqual([]);
    expect(await removals(tables)).toEqual(open);
    expect(
      await Promise.all(["delivery", "job_list", "unexpanded", "subscription"].map((table) => countIn(tables, table))),
    ).toEqual([2, 0, 1, 1]);
    expect(await worker.step([running])).toEqual([]);
  });

  test("what is expanded after it has begun goes, too", async () => {
    const tables = await openTables();
    const { pool, ident } = tables;
    const { writer, store, expand } = tables.join();
    const worker = await tables.work();
    const late = mail(["later"], { accountId: 7 });
    const [id = ""] = await store(raw(late));
    let isExpanded = false;
    const query: typeof pool.query = async (text, values) => {
      const rows = await pool.query(text, values);
      if (text.includes("last_value") && !isExpanded) {
        isExpanded = true;
        await expand(worker.id, { id, events: late.events, cursor: undefined });
      }
      return rows as never;
    };
    const jobs = createPostgresJobs({
      ident: () => ident,
      pool: { ...pool, query },
      writer,
      fold() {},
      changed: async () => {},
    });
    expect((await jobs.erase(7)).count).toBe(1);
    expect(await Promise.all(["delivery", "job", "job_list"].map((table) => countIn(tables, table)))).toEqual([
      0, 0, 0,
    ]);
  });

  test("what an older version expanded without noting the account that its body names goes, too", async () => {
    const tables = await openTables();
    const { jobs, store, expand } = tables.join();
    const worker = await tables.work();
    const [theirs, others] = [ofBody('{"accountId":7}'), ofBody('{"accountId":8}')];
    await store(theirs, others);
    const late = await store(raw(theirs), raw(others));
    for (const [place, { events }] of [theirs, others].entries())
      await expand(worker.id, { id: late[place] ?? "", events, cursor: undefined });
    for (const table of ["delivery", "job_list", "unhandled"])
      await tables.pool.query(`update ${tables.ident}.${table} set account = null`);
    expect((await jobs.erase(7)).count).toBe(2);
    expect(await countIn(tables, "delivery")).toBe(2);
    expect(await idsOf(jobs)).toHaveLength(2);
  });

  test("an account with many deliveries is erased in several transactions, beside claims and stores of others", async () => {
    const tables = await openTables();
    const [eraser, other] = [tables.join(), tables.join()];
    const worker = await tables.work();
    for (let count = 0; count < 3; count += 1)
      await eraser.store(
        ...Array.from({ length: 200 }, (_, index) =>
          mail([{ id: `m-${index}`, lane: undefined }], { accountId: index % 2 === 0 ? 7 : 8 }),
        ),
      );
    const ids = await idsOf(eraser.jobs);
    const theirs = new Set(await idsOf(eraser.jobs, { accountId: 7 }));
    const erased = eraser.jobs.erase(7);
    const running: string[] = [];
    for (let place = 0; place < 120; place += 1) {
      running.push(...(await worker.step([...running, ids[place * 5] ?? ""])).filter((id) => !running.includes(id)));
      if (place % 10 === 0) await other.store(mail(["new"], { accountId: 8 }));
    }
    expect((await erased).count).toBe(300);
    const left = await idsOf(other.jobs);
    expect(left).toHaveLength(312);
    expect(left.some((id) => theirs.has(id))).toBe(false);
    expect(await removals(tables)).toEqual([...theirs]);
  });

  test("a job that the application has in a transaction is waited for, and workers go on meanwhile", async () => {
    const tables = await openTables();
    const { jobs, store } = tables.join();
    const worker = await tables.work();
    await store(mail(["held"], { accountId: 7 }), mail(["free"], { accountId: 7 }), mail(["other"]));
    const [held = "", , other = ""] = await idsOf(jobs);
    const { pool, ident } = tables;
    const erasing = await pool.transaction(async (queries) => {
      await queries.query(`select from ${ident}.job where id = $1 for update`, [held]);
      const watched = watch(jobs.erase(7));
      await eventually(async () => expect(await idsOf(jobs)).toEqual([held, other]));
      expect(await worker.step([other])).toEqual([other]);
      expect(watched.ended).toBe(false);
      return watched;
    });
    await eventually(() => expect(erasing).toMatchObject({ ended: true, value: { count: 2 } }));
    expect(await idsOf(jobs)).toEqual([other]);
  });

  test.each(["done", "dead"] as const)(
    "a replay of a %s job that began before is waited for, and erased",
    async (state) => {
      const tables = await openTables();
      const [made, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const replayer = tables.join(() => {
        made.resolve();
        return commit.promise;
      });
      const eraser = tables.join();
      const worker = await tables.work();
      await eraser.store(mail(["a"], { accountId: 7 }));
      const [id = ""] = await idsOf(eraser.jobs);
      await worker.step([], { [id]: state });
      const replaying = replayer.jobs.replay({ ids: [id] });
      await made.promise;
      const erasing = eraser.jobs.erase(7);
      await waitsForLock(tables);
      expect(await worker.step([])).toEqual([]);
      commit.resolve();
      expect([await replaying, (await erasing).count]).toEqual([1, 1]);
      expect(await Promise.all(["job", "dead", "delivery", "job_list"].map((table) => countIn(tables, table)))).toEqual(
        [0, 0, 0, 0],
      );
    },
  );

  test("a replay beside it leaves no job without its delivery", async () => {
    const tables = await openTables();
    const [first, second] = [tables.join(), tables.join()];
    const worker = await tables.work();
    await first.store(
      ...Array.from({ length: 100 }, (_, index) => mail([`d-${index}`, `e-${index}`], { accountId: 7 })),
    );
    const ids = await idsOf(first.jobs);
    await worker.step([], Object.fromEntries(ids.map((id, place) => [id, place % 2 === 0 ? "dead" : "done"] as const)));
    const replays = Array.from({ length: 20 }, (_, index) =>
      second.jobs.replay({ ids: ids.slice(index * 10, index * 10 + 10) }),
    );
    const [{ count }] = await Promise.all([first.jobs.erase(7), ...replays]);
    expect(count).toBeGreaterThanOrEqual(100);
    expect(await Promise.all(["job", "dead", "delivery", "job_list"].map((table) => countIn(tables, table)))).toEqual([
      0, 0, 0, 0,
    ]);
  });

  test("a body that is no JSON belongs to no account", async () => {
    const tables = await openTables();
    const { jobs, store } = tables.join();
    const odd = raw(mail(["a"]));
    await store(
      { ...odd, delivery: { ...odd.delivery, body: Buffer.from("no JSON") } },
      raw(mail(["b"], { accountId: 7 })),
    );
    expect((await jobs.erase(7)).count).toBe(1);
    expect(await countIn(tables, "unexpanded")).toBe(1);
  });

  test("what waits to be expanded belongs to the account of its body, also where that is a text", async () => {
    const tables = await openTables();
    const { jobs, store } = tables.join();
    await store(raw(mail(["a"], { accountId: 8 })));
    expect((await jobs.erase(7)).count).toBe(0);
    const odd = raw(mail(["b"], { accountId: 7 }));
    const body = Buffer.from(odd.delivery.body.toString().replace('"accountId":7', '"accountId":"7"'));
    await store({ ...odd, delivery: { ...odd.delivery, body } });
    expect((await jobs.erase(7)).count).toBe(1);
    expect(await countIn(tables, "unexpanded")).toBe(1);
  });
});

test("an erase compares no job with each other one: workers wait until it ends", async () => {
  const processes = await openProcesses();
  const { inbox } = await processes.start();
  await storeAll(inbox, mail(Array.from({ length: 400 }, (_, nth) => `${nth}`)));
  const dead = { to: "dead", error: { name: "Error", message: "no", at: 1 } } as const;
  const claims = await claimAll(inbox, { max: 200 });
  await inbox.settle(claims.map((claim) => ({ claim, outcomes: [dead] })));
  const client = await processes.sql.connect();
  const plans: string[] = [];
  client.on("notice", ({ message = "" }) => plans.push(message));
  await client.query(`load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_analyze = on;
    set auto_explain.log_nested_statements = on; set client_min_messages = log`);
  await client.query("select hookline.erase_deliveries(array(select id from hookline.delivery))");
  client.release(true);
  const compared = plans.flatMap((plan) =>
    [...plan.matchAll(/Rows Removed by Join Filter: (\d+)/g)].map(([, n]) => Number(n)),
  );
  expect(plans.length).toBeGreaterThan(10);
  expect(Math.max(0, ...compared)).toBeLessThan(5_000);
  expect(await idsOf(inbox.jobs)).toEqual([]);
});
