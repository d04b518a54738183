import { expect, test } from "vitest";
import { createPostgresSubscriptions } from "../../../adapters/inbox/postgres/upkeep/subscriptions.ts";
import { mail, SKIPPED } from "../../suites/inbox/deliveries.ts";
import { DAY_MS, upkeepWorlds } from "./postgres-upkeep-bench.ts";

const openWorld = upkeepWorlds();

test("writers under which nothing was committed go after a minute; others stay", async () => {
  const world = await openWorld();
  await world.store([mail(["a"])]);
  await world.rows("insert into hl.writer default values");
  await world.pass(59_000);
  await world.retain();
  expect(await world.count("writer")).toBe(2);
  await world.pass(2_000);
  await world.retain();
  expect(await world.rows("select last_id > 0 as used from hl.writer")).toEqual([{ used: true }]);
  await world.store([mail(["b"])]);
  expect(await world.count("job")).toBe(2);
});

test.each(["ensure_days()", "drop_day(int, bigint)", "expire(text, bigint)", "remove_kept(bigint)"])(
  "where %s fails, all else that has had its time goes",
  async (broken) => {
    const world = await openWorld();
    await world.store([mail([{ id: "a", ...SKIPPED }])]);
    await world.rows("insert into hl.dedupe values ('k', 1)");
    await world.rows("insert into hl.tombstone values (1, '', true, 'left', 1, 1)");
    await world.rows("insert into hl.worker (alive) values (false)");
    await world.rows("insert into hl.removal (jobs) values ('{1}')");
    await world.rows("insert into hl.writer default values");
    await world.pass(400 * DAY_MS);
    await world.rows(`alter function hl.${broken} rename to other`);
    await world.retain();
    const [failed] = world.log.of("retention-failed");
    expect(failed).toMatchObject({ level: "warn", facts: { err: { code: "schema-missing" } } });
    const left = { dedupe: 0, tombstone: 0, worker: 1, removal: 0, writer: 0 };
    for (const [table, count] of Object.entries(left))
      expect([table, await world.count(table)]).toEqual([table, count]);
    expect(await world.count("delivery")).toBe(broken.startsWith("drop_day") ? 1 : 0);
  },
);

test.each(["subscription", "tombstone", "dedupe"])(
  "while others have locked the table %s, no connection waits for it for long, and the steps behind it go on",
  async (table) => {
    const world = await openWorld();
    await world.rows("insert into hl.tombstone values (1, '', true, 'left', 1, 1)");
    await world.rows("insert into hl.dedupe values ('k', 1)");
    await world.rows("insert into hl.removal (jobs) values ('{1}')");
    await world.pass(400 * DAY_MS);
    const subscriptions = createPostgresSubscriptions({ ident: () => world.ident, pool: world.pool });
    await world.pool.transaction(async (holder) => {
      await holder.query(`lock table ${world.ident}.${table} in access exclusive mode`);
      const looks = await Promise.allSettled([world.retain(), table === "subscription" && subscriptions.refresh()]);
      const errors = world.log.of("retention-failed").map(({ facts }) => (facts as { readonly err: unknown }).err);
      for (const look of looks) if (look.status === "rejected") errors.push(look.reason);
      const isLocked = { cause: { code: "55P03" } };
      expect(errors).toMatchObject(table === "subscription" ? [isLocked, isLocked] : [isLocked]);
    });
    expect(await world.count("removal")).toBe(0);
  },
);

test("a day that cannot be dropped, because a delivery of it cannot be read, keeps no other day from being dropped", async () => {
  const world = await openWorld();
  const days: number[] = [];
  for (const id of ["a", "b", "c"]) {
    days.push(world.today());
    await world.store([mail([{ id, ...SKIPPED }])]);
    await world.pass(DAY_MS);
  }
  await world.pass(10 * DAY_MS);
  const query: typeof world.pool.query = async (text, values) => {
    const [day, source] = values ?? [];
    if (text.includes("keep_page") && day === days[1] && source === "job")
      await world.rows("do $$ begin raise data_corrupted using message = 'missing chunk'; end $$");
    return world.pool.query(text, values);
  };
  await world.retain({ pool: { ...world.pool, query } });
  expect(await world.days()).toEqual([days[1]]);
  expect(world.log.of("retention-failed")).toHaveLength(1);
});
