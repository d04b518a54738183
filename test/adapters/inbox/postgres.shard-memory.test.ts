import { expect, test } from "vitest";
import type { Pool } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { toStorageError } from "../../../adapters/inbox/postgres/connection/to-storage-error.ts";
import { createLanes } from "../../../adapters/inbox/postgres/work/lanes.ts";
import { createShardMemory } from "../../../adapters/inbox/postgres/work/shard-memory.ts";

const HEAD = { head: { vector: [], removal: 0, unexpanded: false } };

function memoryOf(query: () => Promise<unknown>) {
  return createShardMemory({
    pool: { query } as unknown as Pool,
    ident: () => "hookline",
    lanes: createLanes(),
    now: () => 0,
    isOver: () => false,
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
  const damaged = toStorageError(Object.assign(new Error("invalid page in block 7"), { code: "XX001" }), "statement");
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
  failure = damaged;
  expect([await memory.read([1], 3), memory.isLoaded(3)]).toEqual([[], false]);
});
