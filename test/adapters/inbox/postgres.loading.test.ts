import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Pool } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { createLanes } from "../../../adapters/inbox/postgres/work/lanes.ts";
import {
  createShardMemory,
  type ShardMemory,
  type ShardMemoryDeps,
} from "../../../adapters/inbox/postgres/work/shard-memory.ts";
import type { Life } from "../../../adapters/inbox/postgres/work/create-life.ts";
import { createWorkerClaims } from "../../../adapters/inbox/postgres/work/worker-claims.ts";
import { watch } from "../../support/event-loop.ts";
import { eventually } from "../../support/eventually.ts";
import { openTables, type Tables } from "./postgres-tables.ts";

/** So many that a shard is more than half of what one page of the loading has. */
const IN_SHARD = 1_500;
const SHARDS = [0, 1, 2, 3];
const WRITERS = [1, 2];

/** Jobs of a commit of a writer, each in a lane of its own, over all shards. */
async function commit({ pool, ident }: Tables, writer: number, ids: readonly [first: number, last: number]) {
  await pool.query(
    `insert into ${ident}.job (shard, id, writer, day, delivery, entry, type, consumer, received_at)
     select id % ${SHARDS.length}, id, $1, 1, 1, 0, 'email.created', 'default', 0 from generate_series($2::bigint, $3::bigint) as id`,
    [writer, ...ids],
  );
  await pool.query(`update ${ident}.writer set seq = seq + 1, first_id = $2 - 1, last_id = $3 where id = $1`, [
    writer,
    ...ids,
  ]);
}

/** A backlog of the second writer. The first one's commits have lower ids. */
async function backlog(): Promise<Tables> {
  const tables = await openTables();
  for (const _ of WRITERS) await tables.pool.query(`insert into ${tables.ident}.writer default values`);
  await commit(tables, 2, [1_001, 1_000 + IN_SHARD * SHARDS.length]);
  return tables;
}

/** @param read called before each page of jobs is read */
function memoryOf({ pool, ident }: Tables, read: () => Promise<void>, rest: Partial<ShardMemoryDeps> = {}) {
  const { lanes = createLanes() } = rest;
  const reading: Pool = {
    ...pool,
    async query(text, values) {
      if (text.includes("with ordinality")) await read();
      return pool.query(text, values);
    },
  };
  const nothing = (): void => {};
  const memory = createShardMemory({
    pool: reading,
    ident: () => ident,
    lanes,
    now: () => 0,
    isOver: () => false,
    isMine: () => true,
    changed: nothing,
    unexpanded: nothing,
    lost: nothing,
    read: nothing,
    server: undefined,
    forgot: nothing,
    ...rest,
  });
  return { memory, lanes };
}

async function allLoaded(memory: ShardMemory): Promise<void> {
  await eventually(() => expect(memory.loading).toBeUndefined());
  expect(memory.shards).toHaveLength(SHARDS.length);
}

test("the first shard is there while the next one cannot be read, and the others follow by themselves", async () => {
  const tables = await backlog();
  const waiting: (() => void)[] = [];
  let pages = 0;
  const { memory, lanes } = memoryOf(tables, async () => {
    pages += 1;
    if (pages > 1) await new Promise<void>((resolve) => waiting.push(resolve));
  });
  await memory.load(SHARDS);
  expect([memory.isLoaded(0), memory.isLoaded(1), lanes.stats().waiting]).toEqual([true, false, 2_000]);
  await memory.load(SHARDS); // a later look at the shards does not wait either
  for (const [rest] of SHARDS.slice(1).entries()) {
    await eventually(() => expect(waiting).toHaveLength(rest + 1));
    waiting[rest]?.();
  }
  await allLoaded(memory);
  expect(lanes.stats().waiting).toBe(IN_SHARD * SHARDS.length);
});

test("what is committed while shards are brought in comes once, though it has lower ids than what was read before", async () => {
  const tables = await backlog();
  let last = 0;
  const { memory, lanes } = memoryOf(tables, async () => {
    await commit(tables, 1, [last + 1, last + 8]);
    last += 8;
    void memory.follow();
  });
  await memory.load(SHARDS);
  await allLoaded(memory);
  await memory.follow();
  expect(last).toBeGreaterThan(8 * 3);
  const taken = lanes.take({ max: Infinity, mergeMax: 1 }, 0).flatMap(({ rows }) => rows);
  expect(taken).toHaveLength(IN_SHARD * SHARDS.length + last);
  expect(new Set(taken.map(({ id }) => id)).size).toBe(taken.length);
});

test("shards that could not be read are asked for again", async () => {
  const tables = await backlog();
  let pages = 0;
  const { memory, lanes } = memoryOf(tables, async () => {
    pages += 1;
    if (pages === 2 || pages === 3) throw new Error("away");
  });
  await memory.load(SHARDS);
  await eventually(() => expect(memory.loading).toBeUndefined());
  expect(memory.shards).toEqual([0]);
  await expect(memory.load(SHARDS)).rejects.toThrow("away");
  await eventually(() => expect(memory.loading).toBeUndefined());
  await memory.load(SHARDS);
  await allLoaded(memory);
  expect(lanes.stats().waiting).toBe(IN_SHARD * SHARDS.length);
});

test("shards that there is no room for are read again at once when half of the memory is free, and else after a pause; until then they count as kept out", async () => {
  const tables = await backlog();
  let [pages, at] = [0, 0];
  const { memory, lanes } = memoryOf(tables, async () => void (pages += 1), {
    lanes: createLanes(3_000),
    now: () => at,
  });
  /** So many of the oldest ones in memory end. */
  async function end(count: number): Promise<void> {
    const all = await tables.pool.query<{ id: number }>(`select id from ${tables.ident}.job order by id`);
    const rows = all.filter(({ id }) => lanes.has(id)).slice(0, count);
    await tables.pool.query(`delete from ${tables.ident}.job where id = any ($1)`, [rows.map(({ id }) => id)]);
    lanes.remove(new Set(rows.map(({ id }) => id)), at);
  }
  const isKeptOut = (): boolean => SHARDS.some(memory.isKeptOut);
  async function readsAgain(): Promise<boolean> {
    const before = pages;
    await memory.load(SHARDS);
    await eventually(() => expect(memory.loading).toBeUndefined());
    return pages > before;
  }
  expect(await readsAgain()).toBe(true);
  expect([lanes.stats().waiting, isKeptOut()]).toEqual([3_000, true]);
  await end(200);
  at = 60_000;
  expect([await readsAgain(), isKeptOut()]).toEqual([false, true]);
  await end(700);
  expect([isKeptOut(), await readsAgain(), isKeptOut()]).toEqual([true, true, true]);
  expect(lanes.stats().waiting).toBe(3_000);
  await end(900);
  at += 4_999;
  expect(await readsAgain()).toBe(false);
  at += 1;
  expect(await readsAgain()).toBe(true);
  await end(1_600);
  expect(await readsAgain()).toBe(true);
  expect(lanes.stats().waiting).toBe(6_000 - 200 - 700 - 900 - 1_600);
  expect(isKeptOut()).toBe(false);
});

test("jobs that leave the memory between two pages of a shard that is read again come back", async () => {
  const tables = await openTables();
  await tables.pool.query(`insert into ${tables.ident}.writer default values`);
  await commit(tables, 1, [1, 10_400]); // 2,600 in each shard
  let [isPaused, version] = [false, 0];
  function take(max: number) {
    const rules = { fairness: "none", perAccount: () => Infinity, isHeld: () => isPaused, isPaused: () => isPaused } as const; // prettier-ignore
    version += 1;
    return lanes.take({ max, mergeMax: 1, rules: { ...rules, isPausing: isPaused, version, resumed: version } }, 0);
  }
  const { memory, lanes } = memoryOf(tables, async () => {}, {
    lanes: createLanes(4_900),
    read: () => void (isPaused && lanes.hasRoom(0, 0.2)),
  });
  await memory.load([0, 1]);
  await eventually(() => expect(memory.loading).toBeUndefined());
  expect([memory.shards, lanes.stats().waiting]).toEqual([[0], 4_900]);
  lanes.leave(new Set([0]), 0);
  memory.unload(0);
  isPaused = true;
  take(0);
  await memory.load([1]);
  expect([memory.shards, lanes.fill() < 0.2]).toEqual([[1], true]);
  isPaused = false;
  const ids = new Set<number>();
  do for (const { rows } of take(Infinity)) for (const { id } of rows) ids.add(id);
  while (await lanes.bringBack(memory.read, () => 0));
  for (const { rows } of take(Infinity)) for (const { id } of rows) ids.add(id);
  expect(ids.size).toBe(2_600);
});

test("a claim that finds nothing waits while shards are brought in: nothing is idle before all was looked at", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const memory = { loading: promise as Promise<void> | undefined };
  const claims = createWorkerClaims({
    life: () => life,
    lanes: () => life.lanes,
    now: () => 0,
    leaseMs: 5_000,
    transactions: {} as never,
    orphaned() {},
    unread() {},
    ended() {},
  });
  const life = { memory, lanes: createLanes(), owned: new Set(), isDirty: false } as unknown as Life;
  const claiming = watch(claims.claim({ max: 10, mergeMax: 1 }));
  await nextTurn();
  expect(claiming.ended).toBe(false);
  memory.loading = undefined;
  resolve();
  await eventually(() => expect(claiming).toMatchObject({ ended: true, value: { claims: [] } }));
});
