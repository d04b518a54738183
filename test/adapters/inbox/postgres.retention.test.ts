import { expect, test } from "vitest";
import { ensureDays } from "../../../adapters/inbox/postgres/upkeep/day-partitions.ts";
import { readStats } from "../../../adapters/inbox/postgres/upkeep/read-stats.ts";
import { mail, nobodys, SKIPPED, told } from "../../suites/inbox/deliveries.ts";
import { DAY_MS, KEEP, upkeepWorlds, type World } from "./postgres-upkeep-bench.ts";

const openWorld = upkeepWorlds();
/** Beyond the days that a delivery of now is kept for. */
const LONG = KEEP.keepDoneMs + 2 * DAY_MS;

test("ten processes make the days of a new week at once, beside stores", async () => {
  const world = await openWorld();
  await world.setClocks(7 * DAY_MS);
  let isOver = false;
  const storing = (async () => {
    for (let count = 0; !isOver || count < 20; count += 1) await world.store([mail([`${count}`])]);
  })();
  await Promise.all(Array.from({ length: 10 }, () => ensureDays(world.pool, world.ident)));
  isOver = true;
  await storing;
  const days = await world.rows("select 1 from pg_inherits where inhparent = $1::regclass", `${world.ident}.delivery`);
  expect(days).toHaveLength(7);
  expect(await world.days()).toEqual([world.today()]);
});

test("days are made beside a transaction that stores and does not end", async () => {
  const world = await openWorld();
  await world.setClocks(7 * DAY_MS);
  await world.store([mail(["a"])]);
  await world.pool.transaction(async (queries) => {
    await queries.query(`update ${world.ident}.delivery set absent = absent`);
    await queries.query(
      `insert into ${world.ident}.delivery select day, id + 1, received_at, sent_at, source, signed_by, signature, headers, account, subscription, jobs, absent, body from ${world.ident}.delivery`,
    );
    await world.setClocks(3 * DAY_MS);
    await ensureDays(world.pool, world.ident);
  });
  await world.store([mail(["b"])]);
  expect(await world.days()).toEqual([world.today() - 3, world.today()]);
});

test("a day goes when all of it is old, with all that is done and skipped", async () => {
  const world = await openWorld();
  const [id = 0] = await world.store([mail(["a", { id: "b", ...SKIPPED }])]);
  await world.settle(id + 1, "done");
  await world.pass(KEEP.keepDoneMs);
  await world.retain();
  expect(await world.count("delivery")).toBe(1);
  await world.pass(DAY_MS);
  await world.retain();
  expect(await world.count("delivery")).toBe(0);
  expect(await world.rows("select to_regclass($1) as there", `${world.ident}.delivery_${world.today() - 3}`)).toEqual([
    { there: null },
  ]);
});

test.each(["open", "dead", "unhandled", "unexpanded", "replayed"] as const)(
  "a delivery with a job that is %s outlives its day with its lists, until the job goes",
  async (state) => {
    const world = await openWorld();
    const delivery = mail(["a", { id: "b", ...SKIPPED }]);
    await world.store([mail([{ id: "c", ...SKIPPED }])]);
    const [id = 0] = await world.store([delivery], state === "unexpanded");
    const far = { ...KEEP, keepDeadMs: 100 * DAY_MS, keepUnhandledMs: 100 * DAY_MS };
    if (state === "dead" || state === "unhandled") await world.settle(id + 1, state);
    if (state === "replayed") {
      await world.settle(id + 1, "done");
      await replay(world, id, world.today());
    }
    await world.pass(LONG);
    await world.retain({ options: far });
    expect(await world.rows("select day, id from hl.delivery")).toEqual([{ day: 0, id }]);
    expect(await world.count("job_list")).toBe(state === "replayed" ? 1 : 0);
    await world.retain({ options: far });
    expect(await world.count("delivery")).toBe(1);
    if (state === "unexpanded") {
      const first = await world.expand(id, delivery);
      await world.retain({ options: far });
      expect(await world.rows("select day, delivery from hl.job_list")).toEqual([{ day: 0, delivery: id }]);
      await world.settle(first, "done");
    }
    if (state === "open") await world.settle(id + 1, "done");
    if (state === "replayed")
      for (const { id: job } of await world.rows<{ id: number }>("select id from hl.job"))
        await world.settle(job, "done");
    await world.retain({
      options: state === "dead" || state === "unhandled" ? { ...KEEP, keepUnhandledMs: LONG } : far,
    });
    expect([await world.count("delivery"), await world.count("job_list")]).toEqual([0, 0]);
  },
);

test("a replay that read its delivery before it was moved finds it", async () => {
  const world = await openWorld();
  const [id = 0] = await world.store([mail(["a", "b"])]);
  const day = world.today();
  await world.settle(id + 1, "done");
  await world.pass(LONG);
  await world.retain();
  await replay(world, id, day);
  await world.settle(id + 2, "done");
  await world.retain();
  expect(await world.rows("select day, delivery from hl.job_list")).toEqual([{ day: 0, delivery: id }]);
  expect(await world.count("delivery")).toBe(1);
});

test("a replay of a delivery that was removed meanwhile makes no job", async () => {
  const world = await openWorld();
  const [id = 0] = await world.store([mail(["a"])]);
  const day = world.today();
  await world.settle(id + 1, "done");
  await world.pass(LONG);
  await world.retain();
  await world.store([mail([{ id: "b", ...SKIPPED }])]);
  await expect(replay(world, id, day)).rejects.toThrow("removed meanwhile");
  expect([await world.count("job"), await world.count("job_list")]).toEqual([0, 0]);
});

test("many that something refers to are moved page by page", async () => {
  const world = await openWorld();
  const many = Array.from({ length: 900 }, (_, index) => mail([nobodys(`${index}`)]));
  for (let batch = 0; batch < 3; batch += 1) await world.store(many);
  const large = Array.from({ length: 12 }, (_, index) =>
    mail([nobodys(`${index}`)], { filler: "x".repeat(1_000_000) }),
  );
  for (const one of large) await world.store([one]);
  await world.pass(LONG);
  await world.retain({ options: { ...KEEP, keepUnhandledMs: 9 * DAY_MS } });
  expect(await world.count("delivery", "day = 0")).toBe(2_712);
  expect(await world.days()).toEqual([0]);
  await world.retain();
  expect([await world.count("delivery"), await world.count("unhandled")]).toEqual([0, 0]);
});

test("while a reader holds a transaction open nothing is dropped and stores go on; then it is", async () => {
  const world = await openWorld();
  const [id = 0] = await world.store([mail(["a"])]);
  await world.settle(id + 1, "done");
  await world.pass(LONG);
  await world.pool.transaction(async (queries) => {
    await queries.query(`select count(*) from ${world.ident}.delivery`);
    await world.retain();
    await world.store([mail(["b"])]);
    expect(await world.count("delivery")).toBe(2);
  });
  await world.retain();
  expect(await world.days()).toEqual([world.today()]);
  expect(world.log.lines).toEqual([]);
});

test("a day that a reader uses for an hour is tried less and less often, and reported", async () => {
  const world = await openWorld();
  await world.store([mail([{ id: "a", ...SKIPPED }])]);
  await world.pass(LONG);
  let tries = 0;
  const query: typeof world.pool.query = (text, values) => {
    if (text.includes("drop_day")) tries += 1;
    return world.pool.query(text, values);
  };
  const one = world.upkeep({ pool: { ...world.pool, query } });
  await world.pool.transaction(async (queries) => {
    await queries.query(`select count(*) from ${world.ident}.delivery`);
    one.begin();
    await world.clock.ended();
    for (let minutes = 0; minutes < 60; minutes += 1) {
      world.clock.ahead(60_000);
      await world.clock.next();
    }
  });
  expect(tries).toBe(6);
  expect(world.log.of("retention-blocked")).toHaveLength(1);
  expect(world.log.of("retention-blocked")[0]?.facts["day"]).toMatch(/^20\d\d-\d\d-\d\d$/);
  world.clock.ahead(31 * 60_000);
  await world.clock.next();
  one.end();
  expect(await world.count("delivery")).toBe(0);
});

test("stores go on while days are dropped, and none is lost", async () => {
  const world = await openWorld();
  for (let day = 0; day < 5; day += 1) {
    await world.store([mail([`${day}`])]);
    await world.pass(DAY_MS);
  }
  await world.pass(LONG);
  const before = await world.count("job");
  let isOver = false;
  let stored = 0;
  const storing = (async () => {
    for (; !isOver || stored < 20; stored += 1) await world.store([mail([`new ${stored}`])]);
  })();
  await world.retain();
  isOver = true;
  await storing;
  expect(await world.count("job")).toBe(before + stored);
  expect(
    await world.count(
      "job",
      `not exists (select from ${world.ident}.delivery as d where d.id = job.delivery and d.day in (job.day, 0))`,
    ),
  ).toBe(0);
  expect(await world.days()).toEqual([0, world.today()]);
});

test("what is stored into an old day while it is dropped, since the server's clock went back, is there", async () => {
  const world = await openWorld();
  await world.store([mail([{ id: "a", ...SKIPPED }])]);
  await world.pass(LONG);
  const [{ since } = { since: 0 }] = await world.rows<{ since: number }>("select hl.barrier() as since");
  const day = world.today() - LONG / DAY_MS;
  await world.setClocks(-LONG);
  const [id = 0] = await world.store([mail(["late"])]);
  expect(await world.rows("select hl.drop_day($1, $2) as outcome", day, since)).toEqual([{ outcome: "dropped" }]);
  expect(await world.rows("select day, id from hl.delivery")).toEqual([{ day: 0, id }]);
});

test("a server whose clock is a year ahead for a while empties no table, also where a process starts meanwhile", async () => {
  const world = await openWorld();
  await world.store([mail([{ id: "a", ...SKIPPED }]), told({ key: "k", content: "c" })]);
  await world.retain();
  await world.setClocks(365 * DAY_MS);
  await world.store([mail([{ id: "b", ...SKIPPED }])]);
  const one = world.upkeep();
  one.begin();
  for (let minutes = 0; minutes < 5; minutes += 1) await world.clock.next();
  one.end();
  await world.retain();
  expect([await world.count("delivery"), await world.count("dedupe")]).toEqual([3, 2]);
  await world.setClocks(-365 * DAY_MS);
  await world.retain();
  expect([await world.count("delivery"), await world.count("dedupe")]).toEqual([3, 2]);
});

test("after a time without any process, what is old goes little by little", async () => {
  const world = await openWorld();
  await world.store([mail([{ id: "a", ...SKIPPED }])]);
  await world.retain();
  await world.setClocks(30 * DAY_MS);
  const one = world.upkeep();
  one.begin();
  await world.clock.next();
  expect(await world.count("delivery")).toBe(1);
  for (let hours = 0; hours < 24 * 4; hours += 1) await world.clock.next();
  one.end();
  expect(await world.count("delivery")).toBe(0);
});

test("dead letters that are kept for ever, and times with a fraction, hold up nothing else", async () => {
  const world = await openWorld();
  const [id = 0] = await world.store([told({ key: "k", content: "c" })]);
  await world.settle(id + 1, "dead");
  await world.pass(200 * DAY_MS);
  await world.retain({ options: { ...KEEP, keepDoneMs: 0.3, keepDeadMs: Infinity, keepUnhandledMs: 0.3 } });
  expect(world.log.of("retention-failed")).toEqual([]);
  expect([await world.count("dead"), await world.count("dedupe")]).toEqual([1, 0]);
});

test("dead and unhandled jobs go after their time, and are counted and reported", async () => {
  const world = await openWorld();
  const [id = 0] = await world.store([mail(["a", "b", "c", nobodys("d")])]);
  await world.settle(id + 1, "dead");
  await world.settle(id + 2, "done");
  let expired = 0;
  const parts = { expired: (count: number) => void (expired += count), options: { ...KEEP, keepDoneMs: 30 * DAY_MS } };
  await world.pass(KEEP.keepDeadMs - 1_000);
  await world.retain(parts);
  expect([await world.count("dead"), expired]).toEqual([1, 0]);
  await world.pass(2_000);
  await world.retain(parts);
  expect([await world.count("dead"), expired, await world.count("unhandled")]).toEqual([0, 1, 1]);
  expect(world.log.of("dead-expired")).toHaveLength(1);
  await world.pass(DAY_MS);
  await world.retain(parts);
  expect(await world.count("unhandled")).toBe(0);
  // Else they would look as if they were done.
  expect(await world.rows("select absent from hl.delivery")).toEqual([{ absent: [0, 3] }]);
  expect(await readStats(world.pool, world.ident)).toMatchObject({ expired: 1, dead: 0, waiting: 1, unhandled: 0 });
});

async function replay(world: World, delivery: number, day: number): Promise<void> {
  await world.writer.transaction(async (_queries, make) => {
    await make([
      {
        delivery,
        day,
        entry: 0,
        type: "email.updated",
        consumer: "default",
        lane: "a",
        mergeKey: undefined,
        account: 1,
        subscription: 1,
        receivedAt: 0,
        replayOf: delivery + 1,
      },
    ]);
  });
}
