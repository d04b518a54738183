import {
  toStored,
  type InboxHost,
  type InboxJobs,
  type JobError,
  type JobQuery,
  type JobSelection,
  type StoredJob,
  type Worker,
} from "../../../../src/adapter.ts";
import type { CommitQueue } from "../client/commit-queue.ts";
import type { JobRow } from "../client/thread-protocol.ts";
import { matches, type FoundJob } from "../thread/query-jobs.ts";
import { toDelivery } from "../worker/row-encoding.ts";
import { createWorkerLock } from "../worker/worker-lock.ts";
import type { WorkerState } from "../worker/worker-state.ts";
import { createRequestQueue, type RequestQueue } from "./request-queue.ts";
import { createRequestRunner } from "./request-runner.ts";

/** Admin requests: submitted by this process, or run here for another process. */
export interface SqliteAdmin {
  readonly jobs: InboxJobs;
  /** Runs open requests if this process is the active worker. Never rejects. */
  serve(): Promise<void>;
  /** The file has changed, or was reopened. */
  changed(): void;
  /** Stops running requests and waiting for answers. */
  stop(): void;
}

export interface SqliteAdminDeps {
  readonly file: () => string;
  readonly commits: CommitQueue;
  readonly host: () => InboxHost;
  readonly workerState: WorkerState;
  /** Undefined unless this process is active or on standby. */
  readonly worker: () => Worker | undefined;
}

export function createSqliteAdmin({ file, commits, host, workerState, worker }: SqliteAdminDeps): SqliteAdmin {
  function added(rows: readonly JobRow[]): void {
    workerState.append(rows);
    if (rows.length > 0) worker()?.wake();
  }

  const runner = createRequestRunner({
    commits,
    clock: () => host().clock,
    works: () => workerState.isLoaded,
    added,
    removed(ids) {
      const ended = workerState.lanes.remove(new Set(ids), host().clock.now());
      if (ended.length > 0) worker()?.lost(ended);
      worker()?.wake();
    },
    progressed: () => queue.notify(),
  });
  const queue = createRequestQueue({
    commits,
    clock: () => host().clock,
    runner,
    async whileNobodyWorks(run) {
      if (worker() !== undefined) return undefined;
      const lock = createWorkerLock(file(), host());
      try {
        return lock.tryAcquire() ? await run() : undefined;
      } finally {
        lock.release();
      }
    },
  });

  return {
    jobs: sqliteJobs({ commits, ask: queue.submit, added }),
    serve: runner.serve,
    changed() {
      void runner.serve();
      queue.notify();
    },
    stop() {
      runner.stop();
      queue.stop();
    },
  };
}

interface SqliteJobsDeps {
  readonly commits: CommitQueue;
  readonly ask: RequestQueue["submit"];
  /** Called with new jobs. */
  readonly added: (rows: readonly JobRow[]) => void;
}

/** Queries and admin commands, from any process. */
function sqliteJobs({ commits, ask, added }: SqliteJobsDeps): InboxJobs {
  /** In order, a range of ids a commit. */
  async function* found(query: JobQuery, after = 0): AsyncGenerator<FoundJob> {
    for (let next: number | undefined = after; next !== undefined;) {
      const page: { readonly jobs: readonly FoundJob[]; readonly next: number | undefined } = await commits.add(
        "find",
        { after: next },
      );
      for (const job of page.jobs) if (matches(job, query)) yield job;
      next = page.next;
    }
  }

  return {
    async find({ after, limit, ...query }) {
      const jobs: StoredJob[] = [];
      for await (const job of found(query, Number(after ?? 0))) {
        if (jobs.length === limit) return { jobs, next: String(jobs.at(-1)?.id) };
        jobs.push(toStoredJob(job));
      }
      return { jobs };
    },
    async get(id) {
      const after = Number(id) - 1;
      if (!Number.isSafeInteger(after) || after < 0) return undefined;
      const job = (await commits.add("find", { after, range: 1 })).jobs.find((one) => one.id === after + 1);
      if (job === undefined) return undefined;
      const row = (await commits.add("copyOf", job.id)) ?? (await commits.add("deliveries", [job.delivery]))[0];
      if (row === undefined) return undefined;
      return { job: toStoredJob(job), delivery: toStored(String(job.delivery), toDelivery(row)) };
    },
    replay: (selection) => ask({ verb: "replay", selection: onceEach(selection) }),
    drop: (selection) => ask({ verb: "drop", selection: onceEach(selection) }),
    erase: (accountId) => ask({ verb: "erase", selection: accountId }),
    async unhandled({ handled, after, limit }) {
      const rows = await commits.add("unhandled", { handled, after: Number(after ?? 0), limit });
      return rows.map((row) => ({
        id: String(row.id),
        event: undefined,
        entry: row.entry,
        consumer: row.consumer ?? undefined,
        delivery: toDelivery(row),
      }));
    },
    async reopen(replacements) {
      const input = replacements.map(({ id, jobs }) => ({ id: Number(id), jobs }));
      added(await commits.add("reopen", input));
    },
  };
}

function onceEach(selection: JobSelection): JobSelection {
  return "ids" in selection ? { ids: [...new Set(selection.ids)] } : selection;
}

function toStoredJob(job: FoundJob): StoredJob {
  return {
    id: String(job.id),
    deliveryId: String(job.delivery),
    entry: job.entry,
    state: job.state,
    event: undefined,
    consumer: job.consumer ?? undefined,
    lane: job.lane ?? undefined,
    attempts: job.attempts,
    error: job.error === null ? undefined : (JSON.parse(job.error) as JobError),
    receivedAt: job.receivedAt,
    runAt: job.runAt ?? undefined,
    settledAt: job.settledAt ?? undefined,
    replayOf: job.replayOf === null ? undefined : String(job.replayOf),
  };
}
