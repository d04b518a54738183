import { expect, test, vi } from "vitest";
import { readStats } from "../../../adapters/inbox/postgres/upkeep/read-stats.ts";
import { createPostgresSubscriptions } from "../../../adapters/inbox/postgres/upkeep/subscriptions.ts";
import { createPostgresTombstones } from "../../../adapters/inbox/postgres/upkeep/tombstones.ts";
import { mail, nobodys, notice, SKIPPED, told } from "../../suites/inbox/deliveries.ts";
import { eventually } from "../../support/eventually.ts";
import { DAY_MS, KEEP, upkeepWorlds } from "./postgres-upkeep-bench.ts";

const openWorld = upkeepWorlds();
/** Beyond the days that a delivery of now is kept for. */
const LONG = KEEP.keepDoneMs + 2 * DAY_MS;

test("natural keys go after the window, tombstones long after their last hit, removals after an hour", async () => {
  const world = await openWorld();
  const stones = createPostgresTombstones({ ident: () => world.ident, pool: world.pool, now: world.clock.now });
  await stones.put({ subscription: 5, source: undefined, reason: "gone" });
  await world.store([told({ key: "k", content: "c" })]);
  await world.rows("insert into hl.removal (jobs) values ('{1}')");
  await world.retain();
  expect([await world.count("dedupe"), await world.count("tombstone"), await world.count("removal")]).toEqual([
    2, 1, 1,
  ]);
  await world.pass(DAY_MS + 1_000);
  await world.retain();
  expect([await world.count("dedupe"), await world.count("tombstone"), await world.count("removal")]).toEqual([
    0, 1, 0,
  ]);
  await world.pass(30 * DAY_MS);
  await world.retain();
  expect(await world.count("tombstone")).toBe(0);
});
test("processes that store notices of the same subscriptions in other orders do not wait for each other in a circle", async () => {
  const world = await openWorld();
  const notices = Array.from({ length: 40 }, (_, index) => notice("no", { subscription: index + 10 }));
  const stores = [world.another(), world.another(), world.another()];
  for (let round = 0; round < 5; round += 1)
    await Promise.all(stores.map((store, index) => store(index === 0 ? notices.toReversed() : notices)));
  expect(await world.count("subscription")).toBe(40);
});

test("of notices of subscriptions a thousand stay: those that work go first", async () => {
  const world = await openWorld();
  const subscriptions = createPostgresSubscriptions({ ident: () => world.ident, pool: world.pool });
  const many = Array.from({ length: 1_001 }, (_, index) => notice("no", { subscription: index + 10 }));
  await world.store([notice(undefined, { subscription: 1 }), ...many.slice(0, 1)]);
  await world.store(many.slice(1));
  await subscriptions.refresh();
  expect(subscriptions.errored()).toHaveLength(1_000);
  await world.retain();
  expect([await world.count("subscription"), await world.count("subscription", "error is null")]).toEqual([1_000, 0]);
  expect(await world.count("subscription", "subscription = 10")).toBe(0);
});

test("an idle writer goes when none of its jobs is left, and a dead worker when it owns nothing", async () => {
  const world = await openWorld();
  const [id = 0] = await world.store([mail(["a"])]);
  await world.rows("insert into hl.worker (alive) values (false), (true)");
  await world.pass(3_700_000);
  await world.retain();
  expect([await world.count("writer"), await world.count("worker", "not alive"), await world.count("worker")]).toEqual([
    1, 0, 2,
  ]);
  await world.settle(id + 1, "done");
  await world.retain();
  expect(await world.count("writer")).toBe(0);
  await world.store([mail(["b"])]);
  await world.retain();
  expect(await world.count("writer")).toBe(1);
});

test("many idle writers go with each pass, however many there are whose jobs wait", async () => {
  const world = await openWorld();
  const [id = 0] = await world.store([mail(["a"])]);
  await world.rows("delete from hl.job");
  const waiting = 12_000;
  await world.rows(
    `with made as (insert into hl.writer (seq, first_id, last_id) select 1, 4096, 4100 from generate_series(1, ${waiting + 300}) returning id)
     insert into hl.job (shard, id, writer, day, delivery, entry, type, consumer, received_at)
     select 0, ${id} + row_number() over (order by id), id, 1, ${id}, 0, 'email.updated', 'default', 1 from made order by id limit ${waiting}`,
  );
  const one = world.upkeep();
  await world.pass(61_000);
  one.begin();
  await world.clock.ended();
  expect(await world.count("writer")).toBe(waiting);
  await world.rows("delete from hl.job where shard = 0 and id % 2 = 0");
  await world.pass(61_000);
  await world.clock.next();
  one.end();
  expect(await world.count("writer")).toBe(waiting / 2);
});

test("a dead worker that a transaction holds shards of stays", async () => {
  const world = await openWorld();
  await world.rows("update hl.worker set alive = false");
  await world.retain();
  expect(await world.count("worker")).toBe(1);
});

test("a process that is not the leader removes nothing", async () => {
  const world = await openWorld();
  await world.store([mail([{ id: "a", ...SKIPPED }])]);
  await world.pass(LONG);
  await world.retain({ isLeader: () => false });
  expect(await world.count("delivery")).toBe(1);
});

test("after a failure it goes on a minute later", async () => {
  const world = await openWorld();
  await world.store([mail([{ id: "a", ...SKIPPED }])]);
  await world.pass(LONG);
  await world.rows("alter function hl.drop_day(int, bigint) rename to gone");
  const one = world.upkeep();
  one.begin();
  await world.clock.ended();
  expect(world.log.of("retention-failed")).toHaveLength(1);
  await world.rows("alter function hl.gone(int, bigint) rename to drop_day");
  await world.clock.next();
  one.end();
  expect(await world.count("delivery")).toBe(0);
});

test("after the machine was suspended no tombstone is found until they were looked at again: one may have been lifted", async () => {
  const world = await openWorld();
  const stones = createPostgresTombstones({ ident: () => world.ident, pool: world.pool, now: world.clock.now });
  await stones.put({ subscription: 5, source: undefined, reason: "gone" });
  for (const ms of [6_000, -6_000]) {
    expect(stones.find(5, undefined)).toBeDefined();
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + ms); // and the monotonic clock stood still
    expect(stones.find(5, undefined)).toBeUndefined();
    vi.restoreAllMocks();
    await stones.refresh();
  }
});

test("another process's tombstones are found after a refresh, and so are its hits", async () => {
  const world = await openWorld();
  const [here, there] = [1, 2].map(() =>
    createPostgresTombstones({ ident: () => world.ident, pool: world.pool, now: world.clock.now }),
  );
  if (here === undefined || there === undefined) throw new Error();
  await here.put({ subscription: 5, source: "crm", reason: "left\0" });
  expect(there.isEmpty).toBe(true);
  await there.refresh();
  expect(there.find(5, "crm")?.reason).toBe("left�");
  expect(there.find(5, "shop")).toBeUndefined();
  await world.setClocks(20 * DAY_MS);
  here.find(5, "crm");
  await world.setClocks(20 * DAY_MS);
  await eventually(async () => {
    await there.refresh();
    expect(there.find(5, "crm")).toBeDefined();
  });
  await here.lift(5, undefined);
  await there.refresh();
  expect([there.isEmpty, await there.list()]).toEqual([true, []]);
});

test("what all processes do is counted", async () => {
  const world = await openWorld();
  expect(await readStats(world.pool, world.ident)).toEqual({
    unexpanded: 0,
    waiting: 0,
    running: 0,
    dead: 0,
    unhandled: 0,
    expired: 0,
    oldestWaitingAt: undefined,
    beats: [[expect.any(Number), expect.any(Number)]],
  });
  const [id = 0] = await world.store([
    mail(["a"], { receivedAt: 5 }),
    mail(["b", "c", nobodys("d")], { receivedAt: 7 }),
  ]);
  await world.settle(id + 3, "dead");
  await world.rows("update hl.worker set running = array[$1::bigint]", id + 1);
  expect(await readStats(world.pool, world.ident)).toMatchObject({
    waiting: 1,
    running: 1,
    dead: 1,
    unhandled: 1,
    oldestWaitingAt: 7,
  });
  await world.store([mail(["e"], { receivedAt: 3 })], true);
  expect(await readStats(world.pool, world.ident)).toMatchObject({ unexpanded: 1, oldestWaitingAt: 3 });
});
