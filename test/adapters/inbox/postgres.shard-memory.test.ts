import { expect, test } from "vitest";
import type { Pool } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { createLanes } from "../../../adapters/inbox/postgres/work/lanes.ts";
import { createShardMemory } from "../../../adapters/inbox/postgres/work/shard-memory.ts";

const HEAD = { head: { vector: [], removal: 0, unexpanded: false } };

test("a look is quiet that brought nothing, or failed: a server that is away is not asked as often as a busy one", async () => {
  const answers = [async () => [HEAD, { shard: 1 }], async () => Promise.reject(new Error("away")), async () => [HEAD]];
  const memory = createShardMemory({
    pool: { query: () => answers.shift()?.() } as unknown as Pool,
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
  await memory.follow();
  expect(memory.isQuiet).toBe(false);
  await expect(memory.follow()).rejects.toThrow("away");
  expect(memory.isQuiet).toBe(true);
  await memory.follow();
  expect(memory.isQuiet).toBe(true);
});
