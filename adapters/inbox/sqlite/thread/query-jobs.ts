import type { DatabaseSync } from "node:sqlite";
import type { JobQuery, JobState } from "../../../../src/adapter.ts";
import { attemptsOnceClaimed } from "../../../../src/inbox/job-state.ts";
import type { Counters } from "./counters.ts";
import type { JobLists } from "./job-lists.ts";

/** A job as it stands in the file. */
export interface FoundJob {
  readonly id: number;
  readonly delivery: number;
  readonly entry: number;
  readonly state: JobState;
  readonly type: string;
  readonly consumer: string | null;
  readonly lane: string | null;
  readonly attempts: number;
  readonly error: string | null;
  readonly receivedAt: number;
  readonly runAt: number | null;
  readonly settledAt: number | null;
  readonly replayOf: number | null;
  readonly account: number | null;
  readonly subscription: number | null;
}

/** Jobs in a range of ids, in order. */
export interface FoundPage {
  readonly jobs: readonly FoundJob[];
  /** Where to go on; undefined at the end of the file. */
  readonly next: number | undefined;
}

/** Jobs in the `range` ids behind `after`. */
export type JobFinder = (after: number, range: number) => FoundPage;

/** @param db read within a transaction */
export function jobFinder(
  db: DatabaseSync,
  { lists, counters }: { readonly lists: JobLists; readonly counters: Counters },
): JobFinder {
  const unsettled = db.prepare(
    `SELECT job.id, delivery, entry, job.type, consumer, lane, attempts, deaths, error,
       job.received_at AS receivedAt, nullif(run_at, 0) AS runAt, NULL AS settledAt, replay_of AS replayOf, account, subscription
     FROM job JOIN delivery ON delivery.id = job.delivery WHERE job.id > ? AND job.id <= ?`,
  );
  const dead = db.prepare(
    `SELECT id, delivery, entry, state, type, consumer, lane, attempts, error, received_at AS receivedAt, NULL AS runAt,
       settled_at AS settledAt, replay_of AS replayOf, account, subscription
     FROM dead WHERE id > ? AND id <= ?`,
  );
  const running = db.prepare("SELECT running FROM owner");

  return (after, range) => {
    const end = after + range;
    const marked = JSON.parse(String(running.get()?.["running"])) as Record<string, number>;
    const here: FoundJob[] = [];
    for (const { deaths, attempts, ...job } of unsettled.all(after, end) as unknown as Unsettled[]) {
      const isRunning = marked[job.id] !== undefined;
      const begun = isRunning ? attemptsOnceClaimed({ attempts, deaths }) : attempts;
      here.push({ ...job, attempts: begun, state: isRunning ? "running" : "waiting" });
    }
    here.push(...(dead.all(after, end) as unknown as FoundJob[]));
    const known = new Set(here.map(({ id }) => id));
    for (const { line, ...delivered } of lists.between(after, end)) {
      const [id, entry, type, consumer, lane, , skipped] = line;
      if (known.has(id)) continue;
      const state = skipped === 1 ? "skipped" : "done";
      const settled = { attempts: 0, error: null, runAt: null, settledAt: null, replayOf: null };
      here.push({ id, entry, type, consumer, lane, state, ...delivered, ...settled });
    }
    return { jobs: here.toSorted((a, b) => a.id - b.id), next: end < counters.lastId() ? end : undefined };
  };
}

/** Whether all that the query asks for holds. */
export function matches(job: FoundJob, query: JobQuery): boolean {
  const { states, types, accountId, subscription, consumer, receivedAfter, receivedBefore } = query;
  return (
    (states === undefined || states.includes(job.state)) &&
    (types === undefined || types.includes(job.type)) &&
    (accountId === undefined || job.account === accountId) &&
    (subscription === undefined || job.subscription === subscription) &&
    (consumer === undefined || job.consumer === consumer) &&
    (receivedAfter === undefined || job.receivedAt > receivedAfter) &&
    (receivedBefore === undefined || job.receivedAt < receivedBefore)
  );
}

type Unsettled = Omit<FoundJob, "state"> & { readonly deaths: number };
