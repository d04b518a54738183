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
export function unlessHung<T>(answer: Promise<T>, limit: SilenceLimit): Promise<T> {
  return watchSilence(answer, limit).answer;
}

interface SilenceLimit {
  readonly ms: number;
  readonly setTimer: Clock["setTimer"];
}

/** The same, where the time begins anew with each sign of life. */
export function watchSilence<T>(
  answer: Promise<T>,
  { ms, setTimer }: SilenceLimit,
): { readonly answer: Promise<T>; alive(limitMs: number): void } {
  const limited = Promise.withResolvers<T>();
  let timer: ReturnType<Clock["setTimer"]>;
  let isOver = false;

  function begin(limitMs: number): void {
    // In two halves: a process that was itself stopped for a while first gets what has come meanwhile.
    timer = setTimer(() => {
      timer = setTimer(() => limited.reject(toHung(limitMs)), limitMs / 2);
    }, limitMs / 2);
  }

  begin(ms);
  answer.then(limited.resolve, limited.reject).finally(() => {
    isOver = true;
    timer.clear();
  });
  return {
    answer: limited.promise,
    alive(limitMs) {
      if (isOver) return;
      timer.clear();
      begin(limitMs);
    },
  };
}

function toHung(ms: number): StorageError {
  return new StorageError("thread-hung", `The commit thread gave no answer for ${ms / 1_000} s.`, {
    fix: "Look at the disk: a write to it does not return. Another thread takes its place, and nothing was acknowledged.",
  });
}
