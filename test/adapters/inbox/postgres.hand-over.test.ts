import { expect, test } from "vitest";
import { createLanes, type Row } from "../../../adapters/inbox/postgres/work/lanes.ts";
import { toRow } from "../../../adapters/inbox/postgres/work/shard-rows.ts";
import { SHARDS } from "../../../adapters/inbox/postgres/schema/tables.ts";
import { shardOf } from "../../../adapters/inbox/postgres/store/encode-batch.ts";
import type { Claim, JobOutcome, WorkingInbox } from "../../../src/adapter.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { claimAll, done, settleAll, storeAll } from "../../suites/inbox/verbs.ts";
import { openProcesses, type Processes } from "./postgres-processes.ts";

const ALL = Array.from({ length: SHARDS }, (_, shard) => shard);

/** The nth lane of a shard. */
function laneIn(shard: number, nth: number): string {
  let found = -1;
  for (let place = 0; ; place += 1) {
    const lane = `lane ${place}`;
    if (shardOf("default", lane) === shard && (found += 1) === nth) return lane;
  }
}

async function store(inbox: WorkingInbox, lanes: readonly string[]): Promise<void> {
  await storeAll(inbox, ...lanes.map((lane) => mail([{ id: lane, lane }])));
}

async function claimIn(inbox: WorkingInbox, lanes: readonly string[]): Promise<readonly Claim[]> {
  await store(inbox, lanes);
  const claims = await claimAll(inbox);
  expect(new Set(claims.map(({ jobs: [{ lane }] }) => lane))).toEqual(new Set(lanes));
  return claims;
}

/** Runs all that may run, on each of the processes, until something holds. @returns the ids of the jobs by lane, as they ran */
async function running(
  { passing }: Processes,
  inboxes: readonly WorkingInbox[],
  { until, outcomeOf = () => done }: { until: () => Promise<void> | void; outcomeOf?: (lane: string) => JobOutcome },
): Promise<ReadonlyMap<string, number[]>> {
  const ran = new Map<string, number[]>();
  await passing(async () => {
    for (const inbox of inboxes)
      for (const claim of await claimAll(inbox)) {
        const [{ id, lane = "" }] = claim.jobs;
        const outcome = outcomeOf(lane);
        if (outcome === done) ran.set(lane, [...(ran.get(lane) ?? []), Number(id)]);
        await settleAll(inbox, claim, outcome).catch(() => {}); // passed on
      }
    await until();
  });
  return ran;
}

const shares = ({ rows }: Processes): Promise<readonly { shards: number }[]> =>
  rows("select count(*)::int as shards from hookline.shard where id < 64 group by owner");
const balanced = async (processes: Processes): Promise<void> =>
  expect(await shares(processes)).toEqual([{ shards: SHARDS / 2 }, { shards: SHARDS / 2 }]);
const open = async ({ rows }: Processes): Promise<number> =>
  (await rows<{ jobs: number }>("select count(*)::int as jobs from hookline.job"))[0]?.jobs ?? NaN;

test("the lanes beside a handler that never ends go on when another process joins, which gets its share of the others", async () => {
  const processes = await openProcesses();
  const { inbox } = await processes.start();
  const stuck = [0, 1, 2, 3];
  await claimIn(
    inbox,
    stuck.map((shard) => laneIn(shard, 0)),
  );
  const { inbox: joined } = await processes.start();
  const inboxes = [inbox, joined];
  await processes.passing(() => balanced(processes));
  const lanes = ALL.map((shard) => laneIn(shard, 1));
  await store(inbox, lanes);
  const ran = await running(processes, inboxes, {
    until: async () => expect(await open(processes)).toBe(stuck.length),
  });
  expect(ran.size).toBe(SHARDS);
});

test("where something runs in each shard, all of them are worked on, and go when it has ended: each job once, in the order of its lane", async () => {
  const processes = await openProcesses();
  const { inbox } = await processes.start();
  const lanes = ALL.map((shard) => laneIn(shard, 0));
  const held = await claimIn(inbox, lanes);
  await store(inbox, [...lanes, ...lanes]);
  const { inbox: joined } = await processes.start();
  const beside = ALL.map((shard) => laneIn(shard, 1));
  await store(joined, beside);
  await running(processes, [inbox, joined], {
    until: async () => expect(await open(processes)).toBe(3 * SHARDS),
  });
  for (const claim of held) await settleAll(inbox, claim, done);
  const ran = await running(processes, [inbox, joined], {
    async until() {
      await balanced(processes);
      expect(await open(processes)).toBe(0);
    },
  });
  for (const lane of lanes) {
    const ids = ran.get(lane) ?? [];
    expect(ids).toHaveLength(2);
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  }
});

test("a shard of which a job is left to a newer process is worked on while a handler of it runs, and goes to it then", async () => {
  const processes = await openProcesses();
  const { inbox } = await processes.start();
  const [shard, passed] = [5, laneIn(5, 1)];
  const [held] = (await claimIn(inbox, [laneIn(shard, 0)])) as [Claim];
  const { inbox: newer } = await processes.start();
  await processes.passing(() => balanced(processes));
  await processes.rows(
    `update hookline.worker set handled = '{"default": ["email.updated"]}' where id = (select max(id) from hookline.worker)`,
  );
  await store(inbox, [passed]);
  let tries = 0;
  const old = {
    outcomeOf(lane: string): JobOutcome {
      if (lane === passed) tries += 1;
      return lane === passed ? { to: "unhandled" } : done;
    },
  };
  await running(processes, [inbox], { ...old, until: () => expect(tries).toBe(1) });
  for (let round = 0; round < 5; round += 1) {
    await store(inbox, [laneIn(shard, 2)]);
    await running(processes, [inbox], { ...old, until: async () => expect(await open(processes)).toBe(2) });
  }
  await settleAll(inbox, held, done);
  const ran = await running(processes, [newer], { until: async () => expect(await open(processes)).toBe(0) });
  expect([...ran.keys()]).toEqual([passed]);
});

test("a job that could not be passed on yet waits for five seconds before it is claimed again, and its lane with it", () => {
  const lanes = createLanes();
  const origin = { shard: 5, writer: 1, day: 1, delivery: 1, entry: 0, consumer: "default", lane: "one" };
  const row = (id: number): Row =>
    toRow({ ...origin, id, merge_key: null, received_at: 0, replay_of: null, progress: null });
  for (const id of [1, 2]) lanes.append(row(id), 0);
  const take = (now: number) =>
    lanes.take({ max: 10, mergeMax: 1 }, now).flatMap(({ rows }) => rows.map(({ id }) => id));
  const [run] = lanes.take({ max: 10, mergeMax: 1 }, 0);
  const claim = run && lanes.begin(run, () => ({ delivery: {} as never, event: undefined }), 0);
  const plan = claim && lanes.plan(claim, [{ to: "release" }], 0);
  if (plan?.rows[0] === undefined) throw new Error("There is a plan.");
  lanes.defer(plan.rows[0]);
  lanes.holds(plan, 0);
  expect([take(4_999), lanes.nextDueAt(4_999), take(5_000)]).toEqual([[], 5_000, [1]]);
});
