import type { Clock, StorageError } from "../../../../src/adapter.ts";
import type { CommitQueue } from "../client/commit-queue.ts";
import type { JobRow } from "../client/messages.ts";

/** Carries out what was asked for by hand, page by page. */
export interface RequestRunner {
  /** For the process that works: all that is open, or as much as there is nothing against. Never rejects; what is left is tried again by itself. */
  serve(): Promise<void>;
  /** One page, for a caller who has the lock of the one who works. @returns whether there may be more at once */
  carry(epochOfNobody: number | undefined): Promise<boolean>;
  /** Nothing is tried again by itself. */
  stop(): void;
}

export interface RequestRunnerParts {
  readonly commits: CommitQueue;
  readonly clock: () => Clock;
  /** Whether this process works. */
  readonly works: () => boolean;
  /** New jobs, of which this process may have to know. */
  readonly made: (rows: readonly JobRow[]) => void;
  /** Jobs that are gone from the file; what ran of them is lost. */
  readonly gone: (ids: readonly number[]) => void;
  /** Something was done. */
  readonly carried: () => void;
}

/** Between two tries of what is held up, or failed. */
const AGAIN_MS = 250;
/** So often one is tried that fails while others do not: then it is refused. */
const MOST_FAILURES = 3;

export function createRequestRunner(parts: RequestRunnerParts): RequestRunner {
  const { commits, clock, works, made, gone, carried } = parts;
  let failures = 0;
  let served = Promise.resolve();
  let isServing = false;
  let isAskedAgain = false;
  let timer: ReturnType<Clock["setTimer"]> | undefined;

  async function carry(epochOfNobody: number | undefined): Promise<boolean> {
    const at = clock().now();
    try {
      const page = await commits.add("carry", { at, epochOfNobody });
      failures = 0;
      if (page === undefined) return false;
      made(page.made);
      if (page.gone.length > 0) gone(page.gone);
      if (page.isHeldUp) later();
      else carried();
      return !page.isHeldUp;
    } catch (error) {
      // The request is another process's now, and nothing is wrong with it.
      if ((error as StorageError).code === "epoch-stale") return false;
      failures += 1;
      if (failures >= MOST_FAILURES) await refuse(error as StorageError, at);
      later();
      return false;
    }
  }

  /** Where the file itself is at fault this fails as well, and the request stays. */
  async function refuse({ message }: StorageError, at: number): Promise<void> {
    try {
      await commits.add("refuse", { at, error: message });
      failures = 0;
      carried();
    } catch {
      // It is tried again.
    }
  }

  async function run(): Promise<void> {
    isServing = true;
    do {
      isAskedAgain = false;
      while (works() && (await carry(undefined)));
    } while (isAskedAgain);
    isServing = false;
  }

  function serve(): Promise<void> {
    isAskedAgain = true;
    timer?.clear();
    if (!isServing) served = run();
    return served;
  }

  function later(): void {
    timer?.clear();
    timer = works() ? clock().setTimer(() => void serve(), AGAIN_MS) : undefined;
    timer?.unref?.();
  }

  return {
    serve,
    carry,
    stop: () => timer?.clear(),
  };
}
