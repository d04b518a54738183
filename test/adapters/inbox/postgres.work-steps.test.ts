import { expect, test } from "vitest";
import type { Pool } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { toStorageError } from "../../../adapters/inbox/postgres/connection/to-storage-error.ts";
import { createLanes, type Row } from "../../../adapters/inbox/postgres/work/lanes.ts";
import { createWorkSteps } from "../../../adapters/inbox/postgres/work/work-steps.ts";
import { FRESH } from "../../../src/adapter.ts";
import { deferred, turns, until } from "../../support/event-loop.ts";

const HOLDS = {
  alive: true,
  gone: [],
  left: [],
  held: [],
  passed: [],
  vector: [],
  shards: [],
  removal: null,
  unexpanded: false,
};

type Deps = Parameters<typeof createWorkSteps>[0];

function stepsOn(
  pool: Pick<Pool, "query">,
  refused: Deps["refused"] = () => {},
  pause: Deps["pause"] = async () => {},
) {
  return createWorkSteps({
    ident: () => "hl",
    pool: pool as Pool,
    worker: 7,
    server: 1,
    lanes: createLanes(),
    leaving: () => new Map(),
    confirmed() {},
    over() {},
    failed() {},
    refused,
    now: () => 5,
    pause,
  });
}

test("what was refused has its turn, however much else there is to do", async () => {
  const row = { id: 1, shard: 2, lane: "one" } as Row;
  let sent = 0;
  const pool: Pick<Pool, "query"> = {
    async query<R>(_: string, values: readonly unknown[] = []) {
      sent += 1;
      // There is always another heartbeat to send.
      if (sent < 100) void steps.beat();
      const { others = [] } = JSON.parse(String(values[6])) as { others?: { w: string }[] };
      if (others.some(({ w }) => w === "waiting"))
        throw toStorageError(Object.assign(new Error("no"), { code: "22P02" }), "statement");
      return [{ head: HOLDS }] as unknown as readonly R[];
    },
  };
  const refused: string[] = [];
  const steps = stepsOn(pool, ({ id }, to) => void refused.push(`${id} ${to}`));
  void steps.beat();
  const settle = (progress: Partial<typeof FRESH>) =>
    steps.settle({ rows: [row], progress: [{ ...FRESH, ...progress }], window: undefined });
  const [held, other] = await Promise.all([settle({ state: "waiting", attempts: 2 }), settle({ state: "done" })]);
  expect(sent).toBeLessThan(20);
  expect(held.holds && held.progress.get(row)).toMatchObject({ state: "dead", attempts: 2, settledAt: 5 });
  expect(other.holds && other.progress.size).toBe(0);
  expect(refused).toEqual(["1 dead"]);
});

test("what the server settled is settled, though the worker was given up before the answer came", async () => {
  const { promise, resolve } = deferred();
  const pool: Pick<Pool, "query"> = {
    async query<R>() {
      await promise;
      return [{ head: HOLDS }] as unknown as readonly R[];
    },
  };
  const steps = stepsOn(pool);
  const row = { id: 1, shard: 2, lane: "one" } as Row;
  const settling = steps.settle({ rows: [row], progress: [{ ...FRESH, state: "done" }], window: undefined });
  await turns();
  const marking = steps.mark([row], [], { bytes: 0, largest: 0 });
  steps.end();
  resolve();
  await expect(settling).resolves.toMatchObject({ holds: true });
  await expect(marking).rejects.toMatchObject({ code: "epoch-stale" });
});

/** A server that refuses the ends of some rows. */
function refusing(isRefused: (id: number) => boolean) {
  const sent: (readonly number[])[] = [];
  const pool: Pick<Pool, "query"> = {
    async query<R>(_: string, values: readonly unknown[] = []) {
      const ids = JSON.parse(String(values[5]).replace("{", "[").replace("}", "]")) as number[];
      sent.push(ids);
      await turns(1);
      if (ids.some(isRefused)) throw toStorageError(Object.assign(new Error("no"), { code: "P0001" }), "statement");
      return [{ head: HOLDS }] as unknown as readonly R[];
    },
  };
  return { sent, pool };
}

const rowOf = (id: number): Row => ({ id, shard: 2, lane: `${id}` }) as Row;

test("ends of which the server fails at one wait for a few steps, though it failed at hundreds before", async () => {
  const { sent, pool } = refusing((id) => id < 1_000);
  const steps = stepsOn(pool);
  const end = (id: number) =>
    steps.settle({ rows: [rowOf(id)], progress: [{ ...FRESH, state: "done" }], window: undefined });
  const range = (from: number, count: number) => Array.from({ length: count }, (_, nth) => from + nth);
  const refused = range(0, 500).map((id) =>
    end(id).then(
      () => "holds",
      () => "refused",
    ),
  );
  await until(() => sent.length >= 150);
  const before = sent.length;
  const [bad, ...good] = [end(500), ...range(1_000, 100).map(end)];
  const marking = steps.mark([rowOf(2_000)], [], { bytes: 0, largest: 0 });
  await expect(bad).rejects.toThrow("no");
  await marking;
  await Promise.all(good);
  expect(sent.length - before).toBeLessThan(60);
  expect(new Set(await Promise.all(refused))).toEqual(new Set(["refused"]));
});

test("an end that was refused before is answered, though the worker is over", async () => {
  const steps = stepsOn(refusing((id) => id === 1).pool);
  const row = rowOf(1);
  const end = () => steps.settle({ rows: [row], progress: [{ ...FRESH, state: "done" }], window: undefined });
  await expect(end()).rejects.toThrow("no");
  steps.end();
  await expect(end()).rejects.toMatchObject({ code: "epoch-stale" });
});

test("a step ends so many jobs as it can in time: of hundreds of calls of a thousand jobs each some wait, and small ones do not", async () => {
  const { sent, pool } = refusing(() => false);
  const steps = stepsOn(pool);
  const end = (rows: readonly Row[]) =>
    steps.settle({ rows, progress: rows.map(() => ({ ...FRESH, state: "done" })), window: undefined });
  const merged = Array.from({ length: 12 }, (_, call) =>
    end(Array.from({ length: 1_000 }, (__, nth) => rowOf(call * 1_000 + nth + 1))),
  );
  const most = end(Array.from({ length: 9_000 }, (_, nth) => rowOf(nth + 50_000)));
  const small = end([rowOf(100_000)]);
  await Promise.all([...merged, most, small]);
  expect(sent.map((ids) => ids.length)).toEqual([5_000, 5_000, 2_001, 9_000]);
  expect(sent[0]).not.toContain(100_000);
});

test("an end whose row another session holds is tried again after a pause, not in each step", async () => {
  const ends: (readonly number[])[] = [];
  let isHeld = true;
  const pool: Pick<Pool, "query"> = {
    async query<R>(_: string, values: readonly unknown[] = []) {
      const ids = JSON.parse(String(values[5]).replace("{", "[").replace("}", "]")) as number[];
      ends.push(ids);
      return [{ head: isHeld ? { ...HOLDS, left: ids, held: ids } : HOLDS }] as unknown as readonly R[];
    },
  };
  const pauses: (() => void)[] = [];
  const pause = (): Promise<void> => new Promise((resolve) => pauses.push(resolve));
  const steps = stepsOn(pool, undefined, pause);
  const end = (id: number) =>
    steps.settle({ rows: [rowOf(id)], progress: [{ ...FRESH, state: "done" }], window: undefined });
  const ending = end(1);
  await turns();
  await steps.beat();
  await turns();
  expect(ends).toEqual([[1], []]);
  isHeld = false;
  pauses.shift()?.();
  await expect(ending).resolves.toMatchObject({ holds: true });
  expect(ends).toEqual([[1], [], [1]]);
  isHeld = true;
  const last = end(2);
  await turns();
  steps.end();
  pauses.shift()?.();
  await expect(last).rejects.toMatchObject({ code: "epoch-stale" });
});
