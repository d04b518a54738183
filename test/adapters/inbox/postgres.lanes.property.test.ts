import fc from "fast-check";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Pool } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { createLanes, type Lanes, type Row } from "../../../adapters/inbox/postgres/work/lanes.ts";
import { createShardMemory, type ShardMemory } from "../../../adapters/inbox/postgres/work/shard-memory.ts";
import type { JobRow } from "../../../adapters/inbox/postgres/work/shard-rows.ts";
import type { ClaimRecord } from "../../../src/inbox/claim-book.ts";
import { later } from "./retries.ts";

const SHARDS = [0, 1];
const T = 1_000_000_000;

/** The tables of two shards, whose jobs one writer makes, and a worker's memory of them. */
class World {
  readonly jobs = new Map<number, JobRow>();
  readonly running: ClaimRecord<Row>[] = [];
  /** Answers on their way: what they say was so when they were asked for. */
  readonly answers: (() => void)[] = [];
  readonly lanes: Lanes;
  readonly memory: ShardMemory;
  now = T;
  last = 0;
  removals: number[][] = [];

  constructor(maxJobs: number) {
    this.lanes = createLanes(maxJobs);
    this.memory = createShardMemory({
      pool: { query: (text: string, values: readonly unknown[]) => this.query(text, values) } as unknown as Pool,
      ident: () => "hl",
      lanes: this.lanes,
      now: () => this.now,
      isOver: () => false,
      isMine: () => true,
      changed() {},
      unexpanded() {},
      lost() {},
      read() {},
      server: undefined,
      forgot: () => expect.fail("it grows"),
    });
  }

  async query(text: string, values: readonly unknown[]): Promise<unknown[]> {
    if (text.includes("follow")) {
      const [shards, known] = values as [number[], string];
      const [[, , lastId] = [0, 0, 0]] = JSON.parse(known) as [number, number, number][];
      const vector = [[1, this.last, 0, this.last]];
      return [{ head: { vector, removal: this.removals.length, unexpanded: false } }, ...this.find(({ id, shard }) => id > lastId && shards.includes(shard))]; // prettier-ignore
    }
    if (text.includes("removal")) return this.removals.slice(...(values as [number, number])).map((jobs) => ({ jobs }));
    if (text.includes("lane_window")) return [];
    const rows = text.includes("with ordinality")
      ? (values[0] as number[]).flatMap((shard) => this.find((job) => job.shard === shard))
      : this.find(({ id, shard }) => shard === values[0] && (values[1] as number[]).includes(id));
    await new Promise<void>((resolve) => void this.answers.push(resolve));
    return rows;
  }

  find(condition: (job: JobRow) => boolean): JobRow[] {
    return [...this.jobs.values()].filter(condition);
  }

  add(lane: string | undefined): void {
    const id = (this.last += 1);
    const shard = lane === undefined ? id % 2 : Number(lane > "b");
    const rest = { day: 1, delivery: 1, entry: 0, consumer: "default", merge_key: null, replay_of: null };
    this.jobs.set(id, { ...rest, id, shard, lane: lane ?? null, writer: 1, received_at: id, progress: null });
  }

  take(max: number): number {
    const runs = this.lanes.take({ max, mergeMax: 1 }, this.now);
    for (const run of runs) {
      const [row] = run.rows as [Row];
      const job = this.jobs.get(row.id);
      if (job !== undefined && job.lane !== null) {
        expect(this.find(({ id, lane }) => lane === job.lane && id < job.id)).toEqual([]);
        expect(this.running.some(({ rows }) => rows[0]?.lane === job.lane)).toBe(false);
      }
      // As a step finds out: one that has ended is not there to be marked.
      const claim = this.lanes.begin(run, () => job && ({ delivery: {} } as never), this.now);
      if (job === undefined) expect(claim).toBeUndefined();
      else expect(row.progress.attempts).toBe((job.progress?.attempts ?? 0) + 1);
      if (claim !== undefined) this.running.push(run);
    }
    return runs.length;
  }

  settle(place: number, retryMs: number | undefined): void {
    const [run] = this.running.splice(place % Math.max(this.running.length, 1), 1);
    if (run === undefined) return;
    const plan = this.lanes.plan(
      run.claim,
      [retryMs === undefined ? { to: "done" } : later({ now: () => this.now }, retryMs)],
      this.now,
    );
    const [{ id }] = run.rows as [Row];
    const [after] = plan?.progress ?? [];
    const job = this.jobs.get(id);
    if (plan === undefined) return;
    if (after === undefined) this.jobs.delete(id);
    else if (job !== undefined)
      this.jobs.set(id, { ...job, progress: { ...after, groupMax: null, firstAttemptAt: T, error: null } });
    this.lanes.holds(plan, this.now);
  }

  remove(place: number): void {
    const ids = [...this.jobs.keys()].filter((_, index) => index % 5 === place);
    for (const id of ids) this.jobs.delete(id);
    this.removals.push(ids);
  }

  async follow(): Promise<void> {
    void this.memory.follow(); // once the answers are there that come before
    await nextTurn();
    for (const { claim, state } of this.running) if (state !== "running") this.lanes.handlerEnded(claim, this.now);
    this.running.splice(0, this.running.length, ...this.running.filter(({ state }) => state === "running"));
  }

  load(): void {
    void this.memory.load(SHARDS);
  }

  bringBack(): void {
    void this.lanes.bringBack(this.memory.read, () => this.now);
  }

  async answered(): Promise<void> {
    for (const answer of this.answers.splice(0)) answer();
    await nextTurn();
  }

  leave(shard: number): void {
    this.memory.unload(shard);
    this.lanes.leave(new Set([shard]), this.now);
  }

  /** Looks, and loads what is to be. */
  async round(): Promise<void> {
    this.now += 6_000;
    await this.follow();
    this.load();
    this.bringBack();
    for (let turns = 0; turns < 4; turns += 1) await this.answered();
  }
}

const step = fc.oneof(
  { weight: 14, arbitrary: fc.record({ add: fc.constantFrom("a", "b", "c", "d", undefined) }) },
  { weight: 6, arbitrary: fc.record({ take: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 6, arbitrary: fc.record({ settle: fc.nat(9), retryMs: fc.option(fc.nat(60_000), { nil: undefined }) }) },
  { weight: 4, arbitrary: fc.constant({ follow: true }) },
  { weight: 4, arbitrary: fc.constant({ load: true }) },
  { weight: 3, arbitrary: fc.constant({ room: true }) },
  { weight: 3, arbitrary: fc.constant({ back: true }) },
  { weight: 4, arbitrary: fc.constant({ answered: true }) },
  { weight: 3, arbitrary: fc.record({ pass: fc.integer({ min: -5_000, max: 40_000 }) }) },
  { weight: 1, arbitrary: fc.record({ remove: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.record({ leave: fc.nat(1) }) },
);

async function take(world: World, one: typeof step extends fc.Arbitrary<infer S> ? S : never): Promise<void> {
  if ("add" in one) world.add(one.add);
  else if ("take" in one) world.take(one.take);
  else if ("settle" in one) world.settle(one.settle, one.retryMs);
  else if ("load" in one) world.load();
  else if ("room" in one) world.lanes.hasRoom(world.now);
  else if ("back" in one) world.bringBack();
  else if ("answered" in one) await world.answered();
  else if ("pass" in one) world.now += one.pass;
  else if ("leave" in one) world.leave(one.leave);
  else if ("remove" in one) world.remove(one.remove);
  else await world.follow();
}

test("lanes are loaded, cut off, parked and back, and no job runs before an older one of its lane, as it was before, or never", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 6 }),
      fc.array(step, { maxLength: 150, size: "max" }),
      async (maxJobs, steps) => {
        const world = new World(maxJobs);
        for (const one of steps) await take(world, one);
        for (let rounds = 0; world.jobs.size > 0; rounds += 1) {
          expect(rounds).toBeLessThan(300);
          await world.round();
          world.take(10);
          while (world.running.length > 0) world.settle(0, undefined);
        }
        await world.round();
        world.take(10);
        expect(world.lanes.stats()).toMatchObject({ running: 0, blockedLanes: 0 });
      },
    ),
    { numRuns: 500 },
  );
});

/** Two jobs that wait for a minute left the memory of two for others, of which one found no room: its shard is not followed. */
async function cutOff(): Promise<World> {
  const world = new World(2);
  for (let id = 1; id <= 5; id += 1) {
    world.add(undefined);
    if (id === 2) await world.round();
    if (id === 2) world.take(2);
    if (id === 2) for (const _ of SHARDS) world.settle(0, 60_000);
    await world.follow();
  }
  expect(world.lanes.stats()).toMatchObject({ waiting: 4, blockedLanes: 2 });
  expect(world.memory.shards).toEqual([0]);
  return world;
}

test("a shard that is read again is parked once", async () => {
  const world = await cutOff();
  world.take(2);
  while (world.running.length > 0) world.settle(0, undefined);
  await world.round();
  expect(world.lanes.stats()).toMatchObject({ waiting: 3, blockedLanes: 2 });
});

test("nothing of a shard that was given up is parked", async () => {
  const world = await cutOff();
  for (const shard of SHARDS) world.leave(shard);
  expect(world.lanes.stats()).toMatchObject({ waiting: 0, blockedLanes: 0, oldestWaitingAt: undefined });
});

test("what is being read is not parked until it is used", async () => {
  const world = new World(1);
  world.add("a");
  await world.round();
  world.take(1);
  world.settle(0, 60_000);
  const reading = world.lanes.whileRead(
    [0],
    async () => expect(world.lanes.hasRoom(world.now)).toBe(false),
    () => world.lanes.hasRoom(world.now),
  );
  expect(await reading).toBe(true);
});

test("lanes that come back a little before their time do not displace each other again and again", async () => {
  const world = new World(1);
  await world.round();
  world.now = T;
  for (const lane of ["a", "c"]) {
    world.add(lane);
    await world.follow();
    world.take(1);
    world.settle(0, 9_000);
    if (lane === "a") world.lanes.hasRoom(world.now);
  }
  let brought = 0;
  for (; brought < 10; brought += 1) {
    const coming = world.lanes.bringBack(world.memory.read, () => world.now);
    await world.answered();
    if (!(await coming)) break;
  }
  expect(brought).toBe(0);
  world.now += 9_000;
  expect(world.take(1)).toBe(1);
});
