import { setTimeout as sleep } from "node:timers/promises";
import type { OpenQueue, QueueJob } from "../postgres/queue.ts";

// A process of a contender: the bench tells it what to do, one command at a time.
/** Jobs of one statement or one call. */
const BATCH = 255;
/** Jobs that a load stores at once. */
const SMALL_BATCH = 20;

/** Milliseconds of a clock that all processes of the machine share. */
const now = (): number => Number(process.hrtime.bigint()) / 1e6;

const [file = "", connection = ""] = process.argv.slice(2);
const { default: open } = (await import(new URL(`../servers/${file}`, import.meta.url).href)) as { default: OpenQueue };
const queue = await open(connection);

/** By the job's index, when it ran; 0: it did not. */
let ranAt = new Float64Array(1_024);
let runs = 0;
let isStopped = false;

function handle(index: number): void {
  if (index >= ranAt.length) {
    const longer = new Float64Array(Math.max(index + 1, ranAt.length * 2));
    longer.set(ranAt);
    ranAt = longer;
  }
  ranAt[index] = now();
  runs += 1;
}

interface Some {
  readonly first: number;
  readonly jobs: number;
  readonly lanes: number;
}

function jobsOf({ first, jobs, lanes }: Some): QueueJob[] {
  return Array.from({ length: jobs }, (_, index) => ({
    index: first + index,
    lane: `l-${lanes}-${(first + index) % lanes}`,
  }));
}

const commands = {
  /** Stores jobs, batch by batch. */
  async insert({ first, jobs, lanes }: Some) {
    await queue.makeJobs?.();
    for (let done = 0; done < jobs; done += BATCH) {
      const batch = { first: first + done, jobs: Math.min(BATCH, jobs - done), lanes };
      await queue.insert(queue.prepare(jobsOf(batch)));
    }
    return { jobs };
  },
  /** Stores what was made before, until the time is over. */
  async store({ ms, first, jobs, lanes, makesJobs }: Some & { readonly ms: number; readonly makesJobs: boolean }) {
    if (makesJobs) await queue.makeJobs?.();
    const batches: unknown[] = [];
    for (let done = 0; done < jobs; done += BATCH)
      batches.push(queue.prepare(jobsOf({ first: first + done, jobs: BATCH, lanes })));
    // The first batch connects.
    await queue.insert(batches.shift());
    const startedAt = now();
    let stored = 0;
    for (const batch of batches) {
      await queue.insert(batch);
      stored += BATCH;
      if (now() - startedAt > ms) break;
    }
    return { startedAt, endedAt: now(), stored, inAll: stored + BATCH };
  },
  /** Stores single jobs with pauses between them. @returns when each was given to the queue */
  async send({ first, jobs, lanes, pauseMs }: Some & { readonly pauseMs: number }) {
    const sentAt: number[] = [];
    const stored: Promise<void>[] = [];
    const startedAt = now();
    for (let sent = 0; sent < jobs; sent += 1) {
      await sleep(Math.max(startedAt + sent * pauseMs - now(), 0));
      const prepared = queue.prepare(jobsOf({ first: first + sent, jobs: 1, lanes }));
      sentAt.push(now());
      stored.push(queue.insert(prepared));
    }
    await Promise.all(stored);
    return { sentAt };
  },
  /** Stores small batches with pauses between them, until it is stopped. @returns how many jobs */
  async load({ first, jobs, lanes, pauseMs }: Some & { readonly pauseMs: number }) {
    let stored = 0;
    while (stored < jobs && !isStopped) {
      const batch = { first: first + stored, jobs: Math.min(SMALL_BATCH, jobs - stored), lanes };
      await Promise.all([queue.insert(queue.prepare(jobsOf(batch))), sleep(pauseMs)]);
      stored += batch.jobs;
    }
    return { stored };
  },
  async stop() {
    isStopped = true;
  },
  async work() {
    await queue.work(handle);
  },
  async runs() {
    return runs;
  },
  async ran({ first, jobs }: Pick<Some, "first" | "jobs">) {
    return ranAt.slice(first, first + jobs);
  },
  async close() {
    await queue.close();
  },
};

/** What a process can be told, with its answers. */
export type QueueCommands = typeof commands;

process.on("message", ({ id, verb, given }: { id: number; verb: keyof QueueCommands; given: never }) => {
  commands[verb](given).then(
    (answer: unknown) => process.send?.({ id, answer }),
    (error: unknown) => process.send?.({ id, error: error instanceof Error ? error.stack : String(error) }),
  );
});
process.send?.({ id: 0 });
