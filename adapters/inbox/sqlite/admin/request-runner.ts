import type { Clock, StorageError } from "../../../../src/adapter.ts";
import type { CommitQueue } from "../client/commit-queue.ts";
import type { LoadedJob } from "../client/thread-protocol.ts";

/** Runs admin requests, page by page. */
export interface RequestRunner {
  /** For the active worker: runs all open requests. Never rejects; failed ones are retried on a timer. */
  serve(): Promise<void>;
  /** Runs one page, for a caller that holds the worker lock. @returns whether there may be more at once */
  run(idleEpoch: number | undefined): Promise<boolean>;
  /** Stops retries. */
  stop(): void;
}

export interface RequestRunnerDeps {
  readonly commits: CommitQueue;
  readonly clock: () => Clock;
  /** Whether this process is the active worker. */
  readonly works: () => boolean;
  /** Called with new jobs. */
  readonly added: (rows: readonly LoadedJob[]) => void;
  /** Called with ids of deleted jobs; their claims are lost. */
  readonly removed: (ids: readonly number[]) => void;
  /** A request progressed. */
  readonly progressed: () => void;
}

/** Between two tries of what is held up, or failed. */
const AGAIN_MS = 250;
/** So often one is tried that fails while others do not: then it is refused. */
const MOST_FAILURES = 3;

export function createRequestRunner(parts: RequestRunnerDeps): RequestRunner {
  const { commits, clock, works, added, removed, progressed } = parts;
  let failures = 0;
  let served = Promise.resolve();
  let isServing = false;
  let isAskedAgain = false;
  let timer: ReturnType<Clock["setTimer"]> | undefined;

  async function runPage(idleEpoch: number | undefined): Promise<boolean> {
    const at = clock().now();
    try {
      const page = await commits.add("runRequest", { at, idleEpoch });
      failures = 0;
      if (page === undefined) return false;
      added(page.added);
      if (page.removed.length > 0) removed(page.removed);
      if (page.isHeldUp) later();
      else progressed();
      return !page.isHeldUp;
    } catch (error) {
      // Another process took over, and runs the request.
      if ((error as StorageError).code === "epoch-stale") return false;
      failures += 1;
      if (failures >= MOST_FAILURES) await failOldest(error as StorageError, at);
      later();
      return false;
    }
  }

  /** Where the file itself is at fault this fails as well, and the request stays. */
  async function failOldest({ message }: StorageError, at: number): Promise<void> {
    try {
      await commits.add("failRequest", { at, error: message });
      failures = 0;
      progressed();
    } catch {
      // It is retried.
    }
  }

  async function runAll(): Promise<void> {
    isServing = true;
    do {
      isAskedAgain = false;
      while (works() && (await runPage(undefined)));
    } while (isAskedAgain);
    isServing = false;
  }

  function serve(): Promise<void> {
    isAskedAgain = true;
    timer?.clear();
    if (!isServing) served = runAll();
    return served;
  }

  function later(): void {
    timer?.clear();
    timer = works() ? clock().setTimer(() => void serve(), AGAIN_MS) : undefined;
    timer?.unref?.();
  }

  return {
    serve,
    run: runPage,
    stop: () => timer?.clear(),
  };
}
