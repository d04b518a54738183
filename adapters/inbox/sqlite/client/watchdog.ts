import { StorageError, type Clock } from "../../../../src/adapter.ts";

/** A thread that gives no answer for so long hangs; one that checks all of a damaged file may take its time. */
export const SILENT_MS = 30_000;
export const LOOKING_MS = 10 * 60_000;

/** A thread lives in real time, whatever the host's clock says; it does not keep the process either. */
export function realTimer(run: () => void, ms: number): ReturnType<Clock["setTimer"]> {
  const timer = setTimeout(run, ms).unref();
  return { clear: () => clearTimeout(timer) };
}

/**
 * Settles as the answer does, or rejects when it does not come.
 * @throws StorageError `thread-hung`
 */
export function unlessHung<T>(
  answer: Promise<T>,
  { ms, setTimer }: { readonly ms: number; readonly setTimer: Clock["setTimer"] },
): Promise<T> {
  return new Promise((resolve, reject) => {
    // In two halves: a process that was itself stopped for a while first gets what has come meanwhile.
    let timer = setTimer(() => {
      timer = setTimer(() => reject(toHung(ms)), ms / 2);
    }, ms / 2);
    answer.then(resolve, reject).finally(() => timer.clear());
  });
}

function toHung(ms: number): StorageError {
  return new StorageError("thread-hung", `The commit thread gave no answer for ${ms / 1_000} s.`, {
    fix: "Look at the disk: a write to it does not return. Another thread takes its place, and nothing was acknowledged.",
  });
}
