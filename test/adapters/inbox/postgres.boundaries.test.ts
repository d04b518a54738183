import { expect, onTestFinished, test, vi } from "vitest";
import { readStats } from "../../../adapters/inbox/postgres/upkeep/read-stats.ts";
import { createPostgresTombstones } from "../../../adapters/inbox/postgres/upkeep/tombstones.ts";
import { SERVER } from "../../../adapters/inbox/postgres/schema/tables.ts";
import { HIT_EVERY_MS } from "../../../src/inbox/upkeep/tombstone-cache.ts";
import { TOMBSTONE_LIFE_MS } from "../../../src/adapter.ts";
import { eventually } from "../../support/eventually.ts";
import { NOW, openTables, type Tables } from "./postgres-tables.ts";

async function addDead({ pool, ident }: Tables, first: number, last: number): Promise<void> {
  await pool.query(
    `insert into ${ident}.dead (id, day, delivery, entry, type, received_at, attempts, settled_at) select id, 0, 1, 0, 'email.created', 1, 1, 1 from generate_series($1::int, $2::int) as id`,
    [first, last],
  );
}

async function deadIn({ pool, ident }: Tables): Promise<number> {
  return (await readStats(pool, ident)).dead;
}

test("up to 10,000 dead letters are counted, and more are estimated, but never as fewer", async () => {
  const tables = await openTables();
  expect(await deadIn(tables)).toBe(0);
  await addDead(tables, 1, 9_999);
  expect(await deadIn(tables)).toBe(9_999);
  await addDead(tables, 10_000, 10_000);
  expect(await deadIn(tables)).toBe(10_000);
  await tables.pool.query(`vacuum analyze ${tables.ident}.dead`);
  await addDead(tables, 10_001, 10_001);
  expect(await deadIn(tables)).toBe(10_001);
  await addDead(tables, 10_002, 20_000);
  const estimated = await deadIn(tables);
  expect(estimated).toBeGreaterThan(19_000);
  expect(estimated).toBeLessThan(21_000);
});

test("a table that was never vacuumed is estimated by its size", async () => {
  const tables = await openTables();
  await addDead(tables, 1, 30_000);
  const [row] = await tables.pool.query<{ pages: number }>(
    `update pg_class set reltuples = -1, relpages = 0 where oid = '${tables.ident}.dead'::regclass
     returning (pg_relation_size(oid) / current_setting('block_size')::int)::int as pages`,
  );
  expect(await deadIn(tables)).toBe((row?.pages ?? 0) * 50);
});

test("a tombstone lives for its time after its last hit, and not a millisecond longer; a hit is written once an hour", async () => {
  const { pool, ident } = await openTables();
  let now = NOW;
  const made = () => createPostgresTombstones({ ident: () => ident, pool, now: () => now });
  const tombstones = made();
  await tombstones.put({ subscription: 7, source: undefined, reason: "no" });
  const writtenHit = async () =>
    (await pool.query<{ hit: number }>(`select last_hit as hit from ${ident}.tombstone`))[0]?.hit;
  now = NOW + HIT_EVERY_MS - 1;
  expect(tombstones.find(7, "any")).toMatchObject({ lastHit: now });
  now = NOW + HIT_EVERY_MS;
  expect(tombstones.find(7, undefined)).toMatchObject({ lastHit: now, since: NOW });
  await eventually(async () => expect(await writtenHit()).toBe(NOW + HIT_EVERY_MS));
  now = NOW + HIT_EVERY_MS + TOMBSTONE_LIFE_MS - 1;
  const other = made();
  await other.refresh();
  expect(await other.list()).toHaveLength(1);
  now += 1;
  expect(await other.list()).toEqual([]);
  expect(other.find(7, "any")).toBeUndefined();
});

test("none is found a second after the look that confirmed it began: another process may have lifted it", async () => {
  const { pool, ident } = await openTables();
  let time = Math.ceil(performance.now()); // sums of fractions are not exact
  const clock = vi.spyOn(performance, "now").mockImplementation(() => time);
  onTestFinished(() => clock.mockRestore());
  let answerMs = 0;
  const query: typeof pool.query = async (text, values) => {
    const rows = await pool.query(text, values);
    time += answerMs;
    return rows as never;
  };
  const tombstones = createPostgresTombstones({ ident: () => ident, pool: { ...pool, query }, now: () => NOW });
  await tombstones.put({ subscription: 7, source: undefined, reason: "no" });
  time += 999;
  expect(tombstones.find(7, "crm")).toMatchObject({ reason: "no" });
  time += 1;
  expect(tombstones.find(7, "crm")).toBeUndefined();
  answerMs = 999;
  await tombstones.refresh();
  expect(tombstones.find(7, "crm")).toMatchObject({ reason: "no" });
  time += 1;
  expect(tombstones.find(7, "crm")).toBeUndefined();
});

test("when a lift resolves, no other process finds it any more, though none has looked since", async () => {
  const { pool, ident } = await openTables();
  const made = () => createPostgresTombstones({ ident: () => ident, pool, now: () => NOW });
  const [one, other] = [made(), made()];
  await one.put({ subscription: 7, source: undefined, reason: "no" });
  await other.refresh();
  await one.lift(7, undefined);
  expect(other.find(7, "crm")).toBeUndefined();
});

test("so it is with one that was lifted elsewhere a moment ago", async () => {
  const { pool, ident } = await openTables();
  const made = () => createPostgresTombstones({ ident: () => ident, pool, now: () => NOW });
  const [one, other, third] = [made(), made(), made()];
  await one.put({ subscription: 7, source: undefined, reason: "no" });
  await third.refresh();
  const first = one.lift(7, undefined);
  const gone = () => pool.query(`select 1 from ${ident}.tombstone`);
  await eventually(async () => expect(await gone()).toEqual([]));
  expect(third.find(7, "crm")).toMatchObject({ reason: "no" });
  await other.lift(7, undefined);
  expect(third.find(7, "crm")).toBeUndefined();
  await first;
});

test("those that have not changed hold on for as long as somebody locks their table", async () => {
  const { pool, ident } = await openTables();
  const tombstones = createPostgresTombstones({ ident: () => ident, pool, now: () => NOW });
  await tombstones.put({ subscription: 7, source: undefined, reason: "no" });
  const real = performance.now.bind(performance);
  const clock = vi.spyOn(performance, "now").mockImplementation(() => real() + 5_000);
  onTestFinished(() => clock.mockRestore());
  await pool.transaction(async (holder) => {
    await holder.query(`lock table ${ident}.tombstone in access exclusive mode`);
    await tombstones.refresh();
  });
  expect(tombstones.find(7, "crm")).toMatchObject({ reason: "no" });
});

test("another server is asked for all of them, though it counts changes by the same number: it may lack the last ones", async () => {
  const { pool, ident } = await openTables();
  let server = SERVER;
  const query: typeof pool.query = (text, values) => pool.query(text.replaceAll(SERVER, server), values);
  const tombstones = createPostgresTombstones({ ident: () => ident, pool: { ...pool, query }, now: () => NOW });
  await tombstones.put({ subscription: 7, source: undefined, reason: "no" });
  await pool.query(`delete from ${ident}.tombstone`);
  await tombstones.refresh();
  expect(tombstones.find(7, "crm")).toBeDefined();
  server = "1::bigint";
  await tombstones.refresh();
  expect(tombstones.find(7, "crm")).toBeUndefined();
});

test("of two looks the one that began later counts, whichever answers first", async () => {
  const { pool, ident } = await openTables();
  const answers: (() => void)[] = [];
  const query: typeof pool.query = async (text, values) => {
    const rows = await pool.query(text, values);
    await new Promise<void>((resolve) => void answers.push(resolve));
    return rows as never;
  };
  const tombstones = createPostgresTombstones({ ident: () => ident, pool: { ...pool, query }, now: () => NOW });
  const early = tombstones.refresh();
  await eventually(() => expect(answers).toHaveLength(1));
  await createPostgresTombstones({ ident: () => ident, pool, now: () => NOW }).put({ subscription: 7, source: "crm", reason: "no" }); // prettier-ignore
  const late = tombstones.refresh();
  await eventually(() => expect(answers).toHaveLength(2));
  answers[1]?.();
  await late;
  answers[0]?.();
  await early;
  expect(tombstones.find(7, "crm")).toMatchObject({ reason: "no" });
});
