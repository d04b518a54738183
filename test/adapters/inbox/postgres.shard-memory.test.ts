import { expect, test } from "vitest";
import type { Pool } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { toStorageError } from "../../../adapters/inbox/postgres/connection/to-storage-error.ts";
import { createLanes, type Origin, type Row } from "../../../adapters/inbox/postgres/work/lanes.ts";
import { createShardMemory } from "../../../adapters/inbox/postgres/work/shard-memory.ts";
import { FRESH } from "../../../src/inbox/job-state.ts";
import { turns } from "../../support/event-loop.ts";
import { ALL, HOUR } from "./retries.ts";

const HEAD = { head: { vector: [], removal: 0, unexpanded: false } };
const DAMAGED = toStorageError(Object.assign(new Error("invalid page in block 7"), { code: "XX001" }), "statement");
/** Jobs of a lane that are read at once. */
const PAGE = 1_000;

function memoryOf(
  query: (text: string, values: unknown[]) => Promise<unknown>,
  lanes = createLanes(),
  isMine: (shard: number) => boolean = () => true,
) {
  return createShardMemory({
    pool: { query } as unknown as Pool,
    ident: () => "hookline",
    lanes,
    now: () => 0,
    isOver: () => false,
    isMine,
    changed() {},
    unexpanded() {},
    lost() {},
    read() {},
    server: undefined,
    forgot() {},
  });
}

test("a look is quiet that brought nothing, or failed: a server that is away is not asked as often as a busy one", async () => {
  const answers = [async () => [HEAD, { shard: 1 }], async () => Promise.reject(new Error("away")), async () => [HEAD]];
  const memory = memoryOf(async () => answers.shift()?.());
  await memory.follow();
  expect(memory.isQuiet).toBe(false);
  await expect(memory.follow()).rejects.toThrow("away");
  expect(memory.isQuiet).toBe(true);
  await memory.follow();
  expect(memory.isQuiet).toBe(true);
});

test("a shard of which a parked job cannot be read is loaded again, which says why; one that has no answer is asked again", async () => {
  let failure: Error | undefined;
  const memory = memoryOf(async () => {
    if (failure !== undefined) throw failure;
    return [];
  });
  await memory.load([3]);
  expect(memory.isLoaded(3)).toBe(true);
  failure = new Error("away");
  await expect(memory.read([1], 3)).rejects.toThrow("away");
  expect(memory.isLoaded(3)).toBe(true);
  failure = DAMAGED;
  expect([await memory.read([1], 3), memory.isLoaded(3)]).toEqual([[], false]);
});

test("shards that were given up while each was loaded by itself stay out", async () => {
  const given = new Set<number>();
  const memory = memoryOf(
    async (text, values) => {
      if (!text.includes("with ordinality")) return [HEAD];
      if ((values[0] as number[]).includes(2)) {
        given.add(3);
        memory.unload(3);
        throw DAMAGED;
      }
      return [];
    },
    undefined,
    (shard) => !given.has(shard),
  );
  await expect(memory.loadSingly([1, 2, 3, 4])).rejects.toThrow("invalid page");
  expect(memory.shards).toEqual([1, 4]);
});

test("shards that have no room in the memory are loaded by turns: the one that filled it comes behind the others", async () => {
  const lanes = createLanes(4);
  const asked: unknown[] = [];
  const rows = [1, 2, 3].flatMap((shard) =>
    Array.from({ length: 3 }, (_, nth) => ({
      shard,
      id: shard * 10 + nth,
      writer: 1,
      delivery: 1,
      consumer: "c",
      lane: null,
      progress: null,
    })),
  );
  const memory = memoryOf(async (text, values) => {
    if (text.includes("follow(")) return [{ head: { ...HEAD.head, vector: [[1, 1, 0, 100]] } }];
    if (!text.includes("with ordinality")) return [];
    const shards = values[0] as number[];
    asked.push(shards);
    return shards.flatMap((shard) => rows.filter((row) => row.shard === shard));
  }, lanes);
  for (let turn = 0; turn < 3; turn += 1) {
    await memory.load([1, 2, 3]);
    await turns();
    lanes.remove(new Set(rows.map(({ id }) => id)), 0);
  }
  expect(asked).toEqual([[1, 2, 3], [3, 2], [2]]);
});

/** Of the lane `one`, or of none. */
function rowOf(id: number, lane: string | undefined, waitMs = 0): Row {
  const progress = { ...FRESH, attempts: 1, firstAttemptAt: id, runAt: waitMs, delayMs: waitMs };
  const place = { shard: 3, day: 1, delivery: id, entry: 0, consumer: "c", replayOf: undefined, receivedAt: 0 };
  return { ...place, id, lane, mergeKey: undefined, progress, next: undefined, queuedIn: undefined };
}

/** Lanes with no more room, whose lane `one` has left them until its head is due, with so many jobs. */
function lanesWithParked(jobs: number) {
  const lanes = createLanes(2);
  lanes.append(rowOf(1, "one", HOUR), 0);
  for (let id = jobs + 1; id <= jobs + 2; id += 1) lanes.append(rowOf(id, undefined), 0);
  for (const run of lanes.take(ALL, 0)) {
    lanes.begin(run, () => ({}) as Origin, 0);
    lanes.remove(new Set(run.rows.map(({ id }) => id)), 0);
    lanes.handlerEnded(run.claim, 0);
  }
  for (let id = 2; id <= jobs; id += 1) lanes.append(rowOf(id, "one"), 0);
  return lanes;
}

test("where one of a lane's parked jobs cannot be read, none of those behind it comes back before the shard is loaded again", async () => {
  const lanes = lanesWithParked(PAGE + 1);
  const memory = memoryOf(async (_, [, ids]) => {
    if ((ids as number[]).includes(1)) throw DAMAGED;
    return (ids as number[]).map((id) => rowOf(id, "one"));
  }, lanes);
  while (await lanes.bringBack(memory.read, () => HOUR));
  const runs = lanes.take(ALL, HOUR).map(({ rows }) => rows.map(({ id }) => id));
  expect([runs, lanes.stats().waiting, memory.isLoaded(3)]).toEqual([[], 0, false]);
});

test("the window that a lane inherited stays with its parked jobs when those in memory have all died of it", async () => {
  const lanes = lanesWithParked(PAGE + 1);
  const read = async (ids: readonly number[]) => ids.map((id) => rowOf(id, "one"));
  const error = { at: 0, name: "Error", message: "no" };
  const begun = new Set<number>();
  for (let page = 0; page < 2; page += 1) {
    await lanes.bringBack(read, () => HOUR);
    for (let [run] = lanes.take(ALL, HOUR); run !== undefined; [run] = lanes.take(ALL, HOUR)) {
      const claim = lanes.begin(run, () => ({}) as Origin, HOUR);
      begun.add(claim?.jobs[0].firstAttemptAt ?? Number.NaN);
      const plan = lanes.plan(run.claim, [{ to: "dead", error, ofWindow: true }], HOUR);
      if (plan !== undefined) lanes.holds(plan, HOUR);
    }
  }
  expect([begun, lanes.stats().waiting]).toEqual([new Set([1]), 0]);
});
