import {
  toStored,
  type InboxHost,
  type InboxJobs,
  type JobError,
  type JobSelection,
  type StoredJob,
  type Worker,
} from "../../../../src/adapter.ts";
import type { CommitQueue } from "../client/commit-queue.ts";
import type { LoadedJob } from "../client/thread-protocol.ts";
import type { FoundJob, FoundPage } from "../thread/find-jobs.ts";
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
  function added(rows: readonly LoadedJob[]): void {
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
  readonly added: (rows: readonly LoadedJob[]) => void;
}

/** Queries and admin commands, from any process. */
function sqliteJobs({ commits, ask, added }: SqliteJobsDeps): InboxJobs {
  return {
    async find({ after, limit, ...query }) {
      const jobs: StoredJob[] = [];
      let next: number | undefined = Number(after ?? 0);
      // A page of the file may be short, or empty: what it looks at is bounded. One job more says whether there is another page.
      while (next !== undefined && jobs.length <= limit) {
        const page: FoundPage = await commits.add("find", { ...query, after: next, limit: limit + 1 - jobs.length });
        jobs.push(...page.jobs.map(toStoredJob));
        ({ next } = page);
      }
      const found = jobs.slice(0, limit);
      return jobs.length > limit ? { jobs: found, next: String(found.at(-1)?.id) } : { jobs };
    },
    async get(id) {
      const number = Number(id);
      if (!Number.isSafeInteger(number) || number < 1) return undefined;
      const job = await commits.add("get", number);
      const [row] = job === undefined ? [] : await commits.add("deliveries", [job.delivery]);
      if (job === undefined || row === undefined) return undefined;
      return { job: toStoredJob(job), delivery: toStored(String(job.delivery), toDelivery(row)) };
    },
    replay: (selection) => ask({ verb: "replay", selection: onceEach(selection) }),
    drop: (selection) => ask({ verb: "drop", selection: onceEach(selection) }),
    erase: (accountId) => ask({ verb: "erase", selection: accountId }),
    async unhandled({ handled, after, limit }) {
      const jobs = await commits.add("findUnhandled", { handled, after: Number(after ?? 0), limit });
      const rows = await commits.add("deliveries", [...new Set(jobs.map(({ delivery }) => delivery))]);
      const deliveries = new Map(rows.map((row) => [row.id, toDelivery(row)]));
      return jobs.flatMap(({ id, entry, consumer, delivery: of }) => {
        const delivery = deliveries.get(of); // gone where it was erased in between
        return delivery === undefined
          ? []
          : { id: String(id), event: undefined, entry, consumer: consumer ?? undefined, delivery };
      });
    },
    async reopen(replacements) {
      added(
        await commits.add(
          "reopen",
          replacements.map(({ id, jobs }) => ({ id: Number(id), jobs })),
        ),
      );
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
