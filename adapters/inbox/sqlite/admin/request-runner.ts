import type { Clock, StorageError } from "../../../../src/adapter.ts";
import type { CommitQueue } from "../client/commit-queue.ts";
import type { JobRow } from "../client/messages.ts";

/** Carries out what was asked for by hand, page by page. */
export interface RequestRunner {
  /** For the process that works: all that is open, or as much as there is nothing against. Never rejects; what is left is tried again by itself. */
  serve(): Promise<void>;
  /** One page, for a caller who has the lock of the one who works. @returns whether there may be more at once */
  run(epochOfNobody: number | undefined): Promise<boolean>;
  /** Nothing is tried again by itself. */
  stop(): void;
}

export interface RequestRunnerDeps {
  readonly commits: CommitQueue;
  readonly clock: () => Clock;
  /** Whether this process works. */
  readonly works: () => boolean;
  /** New jobs, of which this process may have to know. */
  readonly added: (rows: readonly JobRow[]) => void;
  /** Jobs that are gone from the file; what ran of them is lost. */
  readonly removed: (ids: readonly number[]) => void;
  /** Something was done. */
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
      // The request is another process's now, and nothing is wrong with it.
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
      // It is tried again.
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
