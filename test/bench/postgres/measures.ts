import { isDeepStrictEqual } from "node:util";
import pg from "pg";
import { toQuantile } from "../figures.ts";
import type { MeasureResult } from "../measures/send-result.ts";
import { checkOrder } from "./check-order.ts";
import { startQueueProcess, type QueueProcess } from "./queue-process.ts";
import type { QueueServer } from "./queue-server.ts";
import type { QueueContender } from "./queue.ts";
import { untilRun } from "./until-run.ts";

/** A contender with its server. Jobs are numbered through, whatever measure makes them. */
export interface QueueRig {
  readonly contender: QueueContender;
  readonly server: QueueServer;
  next: number;
  /** For one drain. */
  readonly limitMs: number;
  /** A process has made the tables. */
  hasTables: boolean;
}

interface Some {
  readonly first: number;
  readonly jobs: number;
}

/** Jobs before the first measured one. */
const WARM_UP = 20;
/** Between two batches of a load: some 2,000 jobs a second, which one worker keeps up with. */
const LOAD_PAUSE_MS = 10;
/** Jobs of the size's row that wait at once. */
const PART = 200_000;

/** What some processes store in a second, all together: with jobs, or deliveries of which a worker makes them later. */
export async function measureStore(
  rig: QueueRig,
  processes: number,
  { ms, makesJobs }: { readonly ms: number; readonly makesJobs: boolean },
): Promise<MeasureResult> {
  // More than any contender stores.
  const jobs = Math.ceil(ms * 60) + 1_000;
  const parts = await withProcesses(rig, processes, (all) =>
    Promise.all(all.map((one) => one.call("store", { ms, first: take(rig, jobs), jobs, lanes: 5_000, makesJobs }))),
  );
  const startedAt = Math.min(...parts.map((part) => part.startedAt));
  const endedAt = Math.max(...parts.map((part) => part.endedAt));
  const stored = sum(parts.map((part) => part.stored));
  return { perSecond: (stored * 1_000) / (endedAt - startedAt) };
}

/** Jobs that two workers do in a second, from the first one to the last. @throws Error if one was lost, ran twice, or ran too early */
export async function measureDrain(rig: QueueRig, jobs: number, lanes: number): Promise<MeasureResult> {
  const first = take(rig, jobs);
  await withProcesses(rig, 1, ([one]) => one!.call("insert", { first, jobs, lanes }));
  const ranAt = await withProcesses(rig, 2, async (workers) => {
    await Promise.all(workers.map((worker) => worker.call("work")));
    await untilRun(async () => sum(await Promise.all(workers.map((worker) => worker.call("runs")))), jobs, rig.limitMs);
    return Promise.all(workers.map((worker) => worker.call("ran", { first, jobs })));
  });
  const { firstAt, lastAt } = checkOrder(ranAt, { jobs, lanes, ordered: rig.contender.ordered });
  return { jobs, perSecond: (jobs * 1_000) / (lastAt - firstAt) };
}

/** The same, at the end of a time in which a transaction has held a snapshot open. */
export async function measureBesideSnapshot(rig: QueueRig, jobs: number, ms: number): Promise<MeasureResult> {
  return withClient(rig, async (client) => {
    await client.query("begin isolation level repeatable read");
    const snapshot = async (): Promise<unknown> =>
      (await client.query("select pg_current_snapshot()::text as at")).rows;
    const before = await snapshot();
    const endsAt = performance.now() + ms;
    let result = await measureDrain(rig, jobs, 5_000);
    while (performance.now() < endsAt) result = await measureDrain(rig, jobs, 5_000);
    if (!isDeepStrictEqual(await snapshot(), before)) throw new Error("The snapshot was not open for all of the time.");
    return result;
  });
}

/** What else the worker does while single jobs come. */
export interface Beside {
  /** Waiting in one lane. */
  readonly hot?: number;
  /** At most so many are stored by a third process meanwhile. */
  readonly busy?: number;
}

/** From the call that stores a job in one process to its handler in another one. @throws Error when the load has ended too early */
export async function measureLatency(
  rig: QueueRig,
  { jobs, pauseMs }: { readonly jobs: number; readonly pauseMs: number },
  { hot = 0, busy = 0 }: Beside = {},
): Promise<MeasureResult> {
  const hotJobs = { first: take(rig, hot), jobs: hot };
  const busyJobs = { first: take(rig, busy), jobs: busy };
  const warmUp = { first: take(rig, WARM_UP), jobs: WARM_UP };
  const measured = { first: take(rig, jobs), jobs };
  if (hot > 0) await withProcesses(rig, 1, ([one]) => one!.call("insert", { ...hotJobs, lanes: 1 }));
  const waits = await withProcesses(rig, busy > 0 ? 3 : 2, async ([worker, sender, other]) => {
    const timesOf = (some: Some) => worker!.call("ran", some);
    const untilRan = (some: Some) => untilRun(async () => countRun(await timesOf(some)), some.jobs, rig.limitMs);
    await worker!.call("work");
    // Both are connected and warm, and what waited is in the memory of the worker.
    await sender!.call("send", { ...warmUp, lanes: 1_000, pauseMs });
    await untilRan(warmUp);
    const load = other?.call("load", { ...busyJobs, lanes: 5_000, pauseMs: LOAD_PAUSE_MS });
    // Awaited below, unless something else fails before.
    load?.catch(() => {});
    if (load !== undefined) await untilRan({ first: busyJobs.first, jobs: WARM_UP });
    const { sentAt } = await sender!.call("send", { ...measured, lanes: 1_000, pauseMs });
    await untilRan(measured);
    const isOver = hot > 0 && countRun(await timesOf(hotJobs)) === hot;
    await other?.call("stop");
    const stored = (await load)?.stored ?? 0;
    if (isOver || (busy > 0 && stored === busy)) throw new Error("The load ended before the measurement.");
    // It would be work of the next row.
    await untilRan({ ...busyJobs, jobs: stored });
    const ranAt = await timesOf(measured);
    return sentAt.map((at, index) => ranAt[index]! - at);
  });
  return { jobs, p50Ms: toQuantile(waits, 0.5), p99Ms: toQuantile(waits, 0.99) };
}

/** Megabytes of the table of jobs with its index, after some jobs were done. */
export async function measureSize(rig: QueueRig, jobs: number): Promise<MeasureResult> {
  for (let done = 0; done < jobs; done += PART) await measureDrain(rig, Math.min(PART, jobs - done), 5_000);
  return withClient(rig, async (client) => {
    const { rows } = await client.query<{ bytes: string }>("select pg_total_relation_size('hookline.job') as bytes");
    return { mb: Number(rows[0]!.bytes) / 1e6 };
  });
}

const sum = (counts: readonly number[]): number => counts.reduce((all, one) => all + one, 0);

const countRun = (ranAt: Float64Array): number => ranAt.reduce((count, at) => count + (at > 0 ? 1 : 0), 0);

async function withClient<T>({ server }: QueueRig, run: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: server.connection });
  await client.connect();
  try {
    return await run(client);
  } finally {
    await client.end();
  }
}

function take(rig: QueueRig, jobs: number): number {
  rig.next += jobs;
  return rig.next - jobs;
}

async function withProcesses<T>(
  rig: QueueRig,
  count: number,
  run: (processes: readonly QueueProcess[]) => Promise<T>,
): Promise<T> {
  const start = () => startQueueProcess(rig.contender.file, rig.server.connection);
  const processes: QueueProcess[] = [];
  try {
    // One by one: the first one makes the tables.
    while (processes.length < (rig.hasTables ? 0 : 1)) processes.push(await start());
    const others = await Promise.allSettled(Array.from({ length: count - processes.length }, start));
    for (const other of others) if (other.status === "fulfilled") processes.push(other.value);
    for (const other of others) if (other.status === "rejected") throw other.reason;
    const result = await run(processes);
    rig.hasTables = true;
    return result;
  } finally {
    await Promise.all(processes.map((one) => one.close()));
  }
}
