import { expect, test } from "vitest";
import { createRetentionSteps } from "../../../adapters/inbox/postgres/upkeep/retention-steps.ts";
import { createPostgresTombstones } from "../../../adapters/inbox/postgres/upkeep/tombstones.ts";
import { mail, nobodys, SKIPPED } from "../../suites/inbox/deliveries.ts";
import { eventually } from "../../support/eventually.ts";
import { DAY_MS, KEEP, upkeepWorlds, type World } from "./postgres-upkeep-bench.ts";

const openWorld = upkeepWorlds();
const LONG = KEEP.keepUnhandledMs + 2 * DAY_MS;

/** Of each kind of job one, all of them too old. */
async function oldWorld(): Promise<World> {
  const world = await openWorld();
  const [id = 0] = await world.store([mail(["done", "dead", { id: "skipped", ...SKIPPED }, nobodys("nobody's")])]);
  await world.settle(id + 1, "done");
  await world.settle(id + 2, "dead");
  await world.pass(LONG);
  return world;
}

const countAll = (world: World): Promise<number[]> =>
  Promise.all(["delivery", "dead", "unhandled"].map((table) => world.count(table)));

test("a process that leads no more, at any step of a pass, leaves the rest to the next one", async () => {
  const world = await oldWorld();
  for (let [steps, asked] = [0, Infinity]; asked > steps;) {
    [steps, asked] = [steps + 1, 0];
    await world.retain({ isLeader: () => asked++ < steps });
  }
  expect(await countAll(world)).toEqual([0, 0, 0]);
  expect(world.log.of("retention-failed")).toEqual([]);
});

test("a pass that is ended in the middle ends, and the next one goes on", async () => {
  const world = await oldWorld();
  let asked = 0;
  const one = world.upkeep({
    isLeader() {
      asked += 1;
      if (asked === 3) one.begin();
      return true;
    },
  });
  one.begin();
  await world.clock.ended();
  world.clock.ahead(60_000);
  await world.clock.next();
  one.end();
  expect(await countAll(world)).toEqual([0, 0, 0]);
});

test("what fails in a process that has ended its upkeep is not reported", async () => {
  const world = await oldWorld();
  const failures = [new Error("the connections are closed")];
  const query: typeof world.pool.query = async (text, values) => {
    const failure = text.includes("drop_day") ? failures.pop() : undefined;
    if (failure === undefined) return world.pool.query(text, values);
    one.begin();
    throw failure;
  };
  const one = world.upkeep({ pool: { ...world.pool, query } });
  one.begin();
  await eventually(() => expect(failures).toEqual([]));
  await world.clock.ended();
  one.end();
  expect(world.log.of("retention-failed")).toEqual([]);
  expect(await countAll(world)).toEqual([0, 0, 0]);
});

test("while another process removes, this one removes nothing, and does not fail", async () => {
  const world = await oldWorld();
  const before = await countAll(world);
  await world.pool.transaction(async (queries) => {
    await queries.query("select pg_advisory_xact_lock(hashtextextended('hookline upkeep ' || $1, 0))", [world.ident]);
    await world.retain();
    const steps = createRetentionSteps(world.pool, () => world.ident);
    expect(await steps.expire("dead", world.clock.now())).toEqual({ count: 0, isMore: false });
    expect(await steps.removeKept(0)).toEqual({ after: null, removed: 0 });
  });
  expect(await countAll(world)).toEqual(before);
  expect(world.log.of("retention-failed")).toEqual([]);
  world.clock.ahead(60_000);
  await world.retain();
  expect(await countAll(world)).toEqual([0, 0, 0]);
});

test("dead letters that expire are reported once a day, with all of that day", async () => {
  const world = await openWorld();
  const [id = 0] = await world.store([mail(["a", "b", "c"])]);
  const one = world.upkeep({ options: { ...KEEP, keepDoneMs: 30 * DAY_MS, keepDeadMs: 1_000 } });
  const reported = (): unknown[] => world.log.of("dead-expired").map(({ facts }) => facts["jobs"]);
  await world.settle(id + 1, "dead");
  await world.pass(2_000);
  one.begin();
  await world.clock.ended();
  expect(reported()).toEqual([1]);
  for (const job of [id + 2, id + 3]) {
    await world.settle(job, "dead");
    await world.setClocks(2_000);
    await world.clock.next();
    expect([await world.count("dead"), reported()]).toEqual([0, [1]]);
  }
  await world.setClocks(DAY_MS);
  await world.clock.next();
  one.end();
  expect(reported()).toEqual([1, 2]);
});

test("a look at the tombstones that comes late does not hide what a later one found", async () => {
  const world = await openWorld();
  const held = Promise.withResolvers<void>();
  let looks = 0;
  const query: typeof world.pool.query = async (text, values) => {
    const rows = await world.pool.query(text, values);
    looks += 1;
    if (looks === 1) await held.promise;
    return rows as never;
  };
  const parts = { ident: () => world.ident, now: world.clock.now };
  const [here, there] = [
    createPostgresTombstones({ ...parts, pool: { ...world.pool, query } }),
    createPostgresTombstones({ ...parts, pool: world.pool }),
  ];
  const late = here.refresh();
  await eventually(() => expect(looks).toBe(1));
  await there.put({ subscription: 5, source: undefined, reason: "left" });
  await here.refresh();
  held.resolve();
  await late;
  expect(here.find(5, "crm")).toMatchObject({ reason: "left" });
});

test("tombstones are those of the tables that the inbox has now, with their hits", async () => {
  const [first, second] = [await openWorld(), await openWorld()];
  let { ident } = first;
  const stones = createPostgresTombstones({ ident: () => ident, pool: first.pool, now: first.clock.now });
  await createPostgresTombstones({ ident: () => second.ident, pool: first.pool, now: first.clock.now }).put({
    subscription: 5,
    source: undefined,
    reason: "second",
  });
  first.clock.ahead(1_000);
  await stones.put({ subscription: 5, source: undefined, reason: "first" });
  await stones.put({ subscription: 6, source: undefined, reason: "first" });
  const [before] = await stones.list();
  ({ ident } = second);
  const [after, ...others] = await stones.list();
  expect([after, others]).toMatchObject([{ subscription: 5, reason: "second" }, []]);
  expect(after?.lastHit).toBeLessThan(before?.lastHit ?? 0);
});
