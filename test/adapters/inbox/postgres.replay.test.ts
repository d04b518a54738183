import { expect, test } from "vitest";
import { toStorageError } from "../../../adapters/inbox/postgres/connection/to-storage-error.ts";
import { createPostgresJobs } from "../../../adapters/inbox/postgres/jobs/admin.ts";
import { mail, nobodys, one } from "../../suites/inbox/deliveries.ts";
import { idsOf, statesOf } from "./postgres-rows.ts";
import { openTables } from "./postgres-tables.ts";

test("a job without a lane is replayed without one", async () => {
  const tables = await openTables();
  const { jobs, store } = tables.join();
  const worker = await tables.work();
  await store(mail([{ id: "a", lane: undefined }]));
  const [id = ""] = await idsOf(jobs);
  await worker.step([], { [id]: "done" });
  expect(await jobs.replay({ ids: [id] })).toBe(1);
  expect((await jobs.find({ states: ["waiting"], limit: 2 })).jobs).toMatchObject([{ lane: undefined, replayOf: id }]);
});

test("jobs without a lane are for all workers alike, however few are stored or replayed at once", async () => {
  const { pool, ident, join, work } = await openTables();
  const { jobs, store } = join();
  const shards = (): Promise<readonly { shard: number }[]> => pool.query(`select distinct shard from ${ident}.job`);
  for (let nth = 0; nth < 64; nth += 1) await store(mail([{ id: `${nth}`, lane: undefined }]));
  expect((await shards()).length).toBeGreaterThan(20);
  const ids = await idsOf(jobs);
  await (await work()).step([], Object.fromEntries(ids.map((id) => [id, "done"])));
  for (const id of ids) expect(await jobs.replay({ ids: [id] })).toBe(1);
  expect((await shards()).length).toBeGreaterThan(20);
});

test("a replay compiles no plan, which has a part for each day: what is to be stored waits for it", async () => {
  const { ident, pool, join, work } = await openTables();
  const { jobs, store, writer } = join();
  await store(mail(["a"]));
  await (await work()).step([], Object.fromEntries((await idsOf(jobs)).map((id) => [id, "dead"])));
  const seen: unknown[] = [];
  const transaction: typeof writer.transaction = (run) =>
    writer.transaction(async (queries, make) => {
      const result = await run(queries, make);
      seen.push(...(await queries.query("select current_setting('jit') as jit")));
      return result;
    });
  const own = createPostgresJobs({ ident: () => ident, pool, writer: { transaction }, changed: async () => {} });
  expect(await own.replay({ states: ["dead"] })).toBe(1);
  expect(seen).toEqual([{ jit: "off" }]);
});

test("a replay that lost its handler is a replay when it is reopened: it merges with replays only", async () => {
  const tables = await openTables();
  const { jobs, store } = tables.join();
  const worker = await tables.work();
  await store(mail([one("a", "key"), nobodys("b")]));
  const [id = "", nobody = ""] = await idsOf(jobs);
  await worker.step([], { [id]: "done" });
  await jobs.replay({ ids: [id] });
  const [replayed = ""] = await idsOf(jobs, { states: ["waiting"] });
  await worker.step([], { [replayed]: "unhandled" });
  const made = [{ state: "waiting", consumer: "default", lane: "one", mergeKey: "new" }] as const;
  await jobs.reopen([replayed, nobody].map((each) => ({ id: each, jobs: made })));
  expect(await tables.pool.query(`select merge_key, replay_of from ${tables.ident}.job order by entry`)).toEqual([
    { merge_key: "replay:new", replay_of: Number(id) },
    { merge_key: "new", replay_of: null },
  ]);
});

test("a dead job that another transaction has is left to it", async () => {
  const tables = await openTables();
  const { jobs, store } = tables.join();
  const worker = await tables.work();
  await store(mail(["a"]));
  const [id = ""] = await idsOf(jobs);
  await worker.step([], { [id]: "dead" });
  await tables.pool.transaction(async (queries) => {
    await queries.query(`select from ${tables.ident}.dead for update`);
    expect(await jobs.replay({ ids: [id] })).toBe(0);
  });
  expect(await statesOf(jobs)).toEqual(["dead"]);
  expect(await jobs.replay({ ids: [id] })).toBe(1);
});

test.each(["40001", "40P01", "55P03"])("what another transaction held up (%s) is done again", async (code) => {
  const tables = await openTables();
  const { store, writer } = tables.join();
  await store(mail(["a"]));
  const failures = [toStorageError(Object.assign(new Error("held up"), { code }), "statement")];
  const query: typeof tables.pool.query = async (text, values) => {
    const failure = text.includes("drop_jobs") ? failures.pop() : undefined;
    if (failure !== undefined) throw failure;
    return tables.pool.query(text, values);
  };
  const pool = { ...tables.pool, query };
  const jobs = createPostgresJobs({ ident: () => tables.ident, pool, writer, changed: async () => {} });
  expect(await jobs.drop({ states: ["waiting"] })).toBe(1);
  expect(failures).toEqual([]);
});

test("of several transactions one waits for its turn: what is to be stored meanwhile comes before the next", async () => {
  const { writer, store } = (await openTables()).join();
  const order: string[] = [];
  let storing: Promise<unknown> | undefined;
  await Promise.all([
    writer.transaction(async () => void (storing = store(mail(["a"])).then(() => order.push("stored")))),
    writer.transaction(async () => void order.push("second")),
  ]);
  await storing;
  expect(order).toEqual(["stored", "second"]);
});

test("of the lists that many replays left, a removal reads those of its jobs alone", async () => {
  const { pool, ident, join, work } = await openTables();
  const { jobs, store } = join();
  const worker = await work();
  await store(mail(Array.from({ length: 20 }, (_, nth) => `${nth}`)));
  for (let round = 0; round < 10; round += 1) {
    const ids = await idsOf(jobs, { states: ["waiting"] });
    await worker.step([], Object.fromEntries(ids.map((id) => [id, "dead"])));
    expect(await jobs.replay({ states: ["dead"] })).toBe(20);
  }
  await pool.transaction(async (queries) => {
    await queries.query(
      `select ${ident}.mark_absent(jsonb_agg(jsonb_build_array(id, delivery, day))) from ${ident}.job`,
    );
    const [read] = await queries.query<{ lists: number }>(
      "select sum(idx_tup_fetch + seq_tup_read)::int as lists from pg_stat_xact_user_tables where relname like 'job_list%'",
    );
    expect(read?.lists).toBeLessThan(100); // of 200, and of 4,000 where each job reads all
  });
  expect(await jobs.drop({ states: ["waiting"] })).toBe(20);
  expect(await idsOf(jobs)).toEqual([]);
});
