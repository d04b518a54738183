import { expect, onTestFinished, test } from "vitest";
import type { Pool } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { createBodyRemoval } from "../../../adapters/inbox/postgres/upkeep/body-removal.ts";
import { mail, SKIPPED } from "../../suites/inbox/deliveries.ts";
import { idsOf, statesOf } from "./postgres-rows.ts";
import { openTables } from "./postgres-tables.ts";
import { KEEP, upkeepWorlds } from "./postgres-upkeep-bench.ts";

const openWorld = upkeepWorlds();

async function open() {
  const world = await openWorld();
  const upkeep = world.upkeep({ options: { ...KEEP, keepBodies: "until-done" } });
  upkeep.begin();
  await world.clock.ended();
  onTestFinished(() => upkeep.end());
  return {
    world,
    /** Of those that have one. */
    async bodies(): Promise<readonly number[]> {
      await world.clock.next();
      const rows = await world.rows<{ id: number }>("select id from hl.delivery where length(body) > 0 order by id");
      return rows.map(({ id }) => id);
    },
  };
}

test("a body goes in the next pass when all jobs of its delivery are done or skipped, and its lists stay", async () => {
  const { world, bodies } = await open();
  const ids = await world.store([mail(["a", { id: "b", ...SKIPPED }]), mail(["c"]), mail([{ id: "d", ...SKIPPED }])]);
  const [first = 0, second = 0] = ids;
  expect(await bodies()).toEqual([first, second]);
  await world.settle(first + 1, "done");
  expect(await bodies()).toEqual([second]);
  await world.settle(second + 1, "done");
  expect(await bodies()).toEqual([]);
  expect(await world.count("delivery", "jobs is not null")).toBe(3);
});

test.each(["dead", "unhandled"] as const)("a body whose job is %s stays until that job goes", async (state) => {
  const { world, bodies } = await open();
  const [id = 0] = await world.store([mail(["a", "b"])]);
  await world.settle(id + 1, state);
  await world.settle(id + 2, "done");
  expect(await bodies()).toEqual([id]);
  expect(await bodies()).toEqual([id]);
  await world.rows("select hl.drop_jobs($1, true, true, true)", [id + 1]);
  expect(await bodies()).toEqual([]);
});

test("a body that waits to be expanded stays, until what is made of it is done", async () => {
  const { world, bodies } = await open();
  const delivery = mail(["a"]);
  const [id = 0] = await world.store([delivery], true);
  expect(await bodies()).toEqual([id]);
  const job = await world.expand(id, delivery);
  expect(await bodies()).toEqual([id]);
  await world.settle(job, "done");
  expect(await bodies()).toEqual([]);
});

test("a row that another transaction has is looked at again", async () => {
  const { world, bodies } = await open();
  const [id = 0] = await world.store([mail(["a"])]);
  await world.settle(id + 1, "done");
  await world.pool.transaction(async (queries) => {
    await queries.query(`select 1 from ${world.ident}.delivery where id = $1 for no key update`, [id]);
    expect(await bodies()).toEqual([id]);
  });
  expect(await bodies()).toEqual([]);
});

test("ids that no delivery has are passed over at once, however many they are", async () => {
  const { world, bodies } = await open();
  const [first = 0] = await world.store([mail(["a"])]);
  await world.rows("alter sequence hl.block restart with 100000000");
  const [second = 0] = await world.store([mail(["b"])]);
  expect(second - first).toBeGreaterThan(4e11);
  for (const id of [first, second]) await world.settle(id + 1, "done");
  expect(await bodies()).toEqual([]);
  expect(await bodies()).toEqual([]);
});

test("what was done before this process began, or under another one, goes as well", async () => {
  const world = await openWorld();
  const ids = await world.store([mail(["a"]), mail(["b"])]);
  for (const id of ids) await world.settle(id + 1, "done");
  await world.retain({ options: { ...KEEP, keepBodies: "retention" } });
  expect(await world.count("delivery", "length(body) > 0")).toBe(2);
  await world.retain({ options: { ...KEEP, keepBodies: "until-done" } });
  expect(await world.count("delivery", "length(body) > 0")).toBe(0);
});

test("a job without a body is listed, brings no delivery, and is not replayed", async () => {
  const tables = await openTables();
  const { jobs, store } = tables.join();
  const worker = await tables.work();
  await store(mail(["a", "b"]));
  const [a = "", b = ""] = await idsOf(jobs);
  await worker.step([], { [a]: "done", [b]: "dead" });
  const remove = () =>
    tables.pool.query(`select ${tables.ident}.remove_bodies(array(select id from ${tables.ident}.delivery))`);
  await remove();
  expect((await jobs.get(a))?.delivery).toBeDefined();
  expect(await jobs.drop({ states: ["dead"] })).toBe(1);
  await remove();
  expect(await statesOf(jobs, {})).toEqual(["done"]);
  const found = await jobs.get(a);
  expect(found).toMatchObject({ job: { id: a, state: "done" } });
  expect(found?.delivery).toBeUndefined();
  expect(await jobs.replay({ ids: [a] })).toBe(0);
});

test("lists of jobs are looked at in pages for what was replayed, and not at all where no job is dead", async () => {
  const asked: unknown[] = [];
  let ended: readonly number[] = [];
  const pool: Pick<Pool, "query"> = {
    async query<R>(text: string, values: readonly unknown[] = []) {
      if (text.includes("job_list")) asked.push(values[0]);
      if (text.includes("last_value")) return [{ last: 9 }] as R[];
      if (text.includes("remove_bodies")) return [{ left: { open: [], ended } }] as R[];
      if (text.includes("min(id)")) return [{ id: null }] as R[];
      if (text.includes("headers <>")) return [{ id: 7 }] as R[];
      const full = Array.from({ length: 10_000 }, (_, nth) => ({ id: nth + 1, delivery: 3 }));
      return (values[0] === 0 ? full : []) as R[];
    },
  };
  const removal = createBodyRemoval(
    pool as Pool,
    () => "hl",
    async () => true,
  );
  await removal.pass();
  expect(asked).toEqual([]);
  removal.forget();
  ended = [7];
  await removal.pass();
  await removal.pass();
  expect(asked).toEqual([0, 10_000]);
});
