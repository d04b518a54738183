import type { InboxHost, InboxJobs, Worker } from "../../../../src/adapter.ts";
import type { Commits } from "../client/commit-queue.ts";
import type { JobRow } from "../client/messages.ts";
import type { Owned } from "../worker/worker-state.ts";
import { createRequestCarrier } from "./request-runner.ts";
import { createRequestDesk } from "./request-queue.ts";
import { sqliteJobs } from "./sqlite-jobs.ts";
import { createWorkerPlace } from "../worker/worker-lock.ts";

/** What is done by hand: asked for here, or carried out here for another process. */
export interface ByHand {
  readonly jobs: InboxJobs;
  /** Carries out what is open, where this process works. Never rejects. */
  serve(): Promise<void>;
  /** The file has changed, or is there again. */
  changed(): void;
  /** This process works no more, and waits for nothing. */
  stop(): void;
}

export interface ByHandParts {
  readonly file: () => string;
  readonly commits: Commits;
  readonly host: () => InboxHost;
  readonly owned: Owned;
  /** Of the process that works, or stands by. */
  readonly worker: () => Worker | undefined;
}

export function createByHand({ file, commits, host, owned, worker }: ByHandParts): ByHand {
  function made(rows: readonly JobRow[]): void {
    owned.append(rows);
    if (rows.length > 0) worker()?.wake();
  }

  const carrier = createRequestCarrier({
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
  const desk = createRequestDesk({
    commits,
    clock: () => host().clock,
    carrier,
    async whileNobodyWorks(run) {
      if (worker() !== undefined) return undefined;
      const place = createWorkerPlace(file(), host());
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
