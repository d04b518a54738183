import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { Outcome } from "./run-seed.ts";
import type { StoreName } from "./stores.ts";

/** Which seeds. */
interface Range {
  readonly from: number;
  readonly count: number;
  readonly store: StoreName;
}

/** Of one thread. */
export interface ThreadRange {
  readonly from: number;
  readonly to: number;
  readonly step: number;
  readonly store: StoreName;
}

/** What a thread says: which world it begins, or how that ended. */
export type Word = { readonly began: number } | { readonly ended: Outcome };

/** Longer than any world takes, by far: a loop that never lets go is an error too. */
const HUNG_MS = 300_000;
const MOST_THREADS = 4;

/**
 * Lives through many worlds, some at a time: each thread takes every n-th seed, of n threads.
 * @param told of each world; false ends it all
 */
export async function runMany({ from, count, store }: Range, told: (outcome: Outcome) => boolean): Promise<void> {
  const step = Math.min(MOST_THREADS, availableParallelism(), count);
  const ending = new AbortController();
  const threads = Array.from({ length: step }, (_, index) =>
    runThread(
      { from: from + index, to: from + count, step, store },
      (outcome) => {
        if (!ending.signal.aborted && !told(outcome)) ending.abort();
      },
      ending.signal,
    ),
  );
  await Promise.all(threads);
}

async function runThread(
  workerData: ThreadRange,
  told: (outcome: Outcome) => void,
  signal: AbortSignal,
): Promise<void> {
  const thread = new Worker(new URL("worker-thread.ts", import.meta.url), { workerData });
  let watch: NodeJS.Timeout | undefined;
  /** The world that it lives through. */
  let current: number | undefined;
  const end = (): void => {
    current = undefined;
    void thread.terminate();
  };
  const broke = (seed: number, failure: string): void => told({ seed, hash: "", calls: 0, trace: [], failure });
  signal.addEventListener("abort", end);
  thread.on("message", (word: Word) => {
    clearTimeout(watch);
    if ("ended" in word) {
      current = undefined;
      return told(word.ended);
    }
    const seed = (current = word.began);
    watch = setTimeout(() => {
      end();
      broke(seed, `it did not end within ${HUNG_MS} ms`);
    }, HUNG_MS);
  });
  const code = await new Promise<number>((resolve, reject) => {
    thread.on("exit", resolve);
    thread.on("error", reject);
  });
  clearTimeout(watch);
  if (current !== undefined) broke(current, `its thread ended in the middle of it, with code ${code}`);
}
