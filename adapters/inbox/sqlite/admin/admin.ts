import type { InboxHost, InboxJobs, Worker } from "../../../../src/adapter.ts";
import type { CommitQueue } from "../client/commit-queue.ts";
import type { JobRow } from "../client/messages.ts";
import type { WorkerState } from "../worker/worker-state.ts";
import { createRequestRunner } from "./request-runner.ts";
import { createRequestQueue } from "./request-queue.ts";
import { sqliteJobs } from "./sqlite-jobs.ts";
import { createWorkerLock } from "../worker/worker-lock.ts";

/** What is done by hand: asked for here, or carried out here for another process. */
export interface SqliteAdmin {
  readonly jobs: InboxJobs;
  /** Carries out what is open, where this process works. Never rejects. */
  serve(): Promise<void>;
  /** The file has changed, or is there again. */
  changed(): void;
  /** This process works no more, and waits for nothing. */
  stop(): void;
}

export interface SqliteAdminParts {
  readonly file: () => string;
  readonly commits: CommitQueue;
  readonly host: () => InboxHost;
  readonly owned: WorkerState;
  /** Of the process that works, or stands by. */
  readonly worker: () => Worker | undefined;
}

export function createSqliteAdmin({ file, commits, host, owned, worker }: SqliteAdminParts): SqliteAdmin {
  function made(rows: readonly JobRow[]): void {
    owned.append(rows);
    if (rows.length > 0) worker()?.wake();
  }

  const carrier = createRequestRunner({
    commits,
    clock: () => host().clock,
    works: () => owned.isLoaded,
    made,
    gone(ids) {
      const ended = owned.lanes.remove(new Set(ids), host().clock.now());
      if (ended.length > 0) worker()?.lost(ended);
      worker()?.wake();
    },
    carried: () => desk.stir(),
  });
  const desk = createRequestQueue({
    commits,
    clock: () => host().clock,
    carrier,
    async whileNobodyWorks(run) {
      if (worker() !== undefined) return undefined;
      const place = createWorkerLock(file(), host());
      try {
        return place.take() ? await run() : undefined;
      } finally {
        place.leave();
      }
    },
  });

  return {
    jobs: sqliteJobs({ commits, ask: desk.ask, made }),
    serve: carrier.serve,
    changed() {
      void carrier.serve();
      desk.stir();
    },
    stop() {
      carrier.stop();
      desk.stop();
    },
  };
}
