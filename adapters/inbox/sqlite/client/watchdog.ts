import { StorageError, type Clock } from "../../../../src/adapter.ts";
import type { Batch, TaskResult } from "../thread/transaction.ts";
import type { ThreadClient } from "./thread-client.ts";

/** A thread that gives no answer for so long hangs; one that checks all of a damaged file may take its time. */
export const SILENT_MS = 30_000;
export const LOOKING_MS = 10 * 60_000;

/** How long a thread may be silent. */
export interface Patience {
  readonly ms: number;
  readonly setTimer: Clock["setTimer"];
}

/** A thread lives in real time, whatever the host's clock says; it does not keep the process either. */
export function realTimer(run: () => void, ms: number): ReturnType<Clock["setTimer"]> {
  const timer = setTimeout(run, ms).unref();
  return { clear: () => clearTimeout(timer) };
}

/**
 * Settles as the answer does, or rejects when it does not come.
 * @throws StorageError `thread-hung`
 */
export function unlessHung<T>(answer: Promise<T>, { ms, setTimer }: Patience): Promise<T> {
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

export interface Watch extends Patience {
  /** It died or hangs: what it was doing is of unknown outcome. */
  readonly lost: (error: StorageError, channel: ThreadClient) => void;
  /** How a batch ended. */
  readonly ended: (batch: Batch, results: readonly TaskResult[]) => void;
}

/** The same channel, given up when its thread gives no answer. */
export function watchedChannel(raw: ThreadClient, { lost, ended, ...patience }: Watch): ThreadClient {
  async function unlessSilent<T>(answer: Promise<T>): Promise<T> {
    try {
      return await unlessHung(answer, patience);
    } catch (error) {
      raw.abandon();
      lost(error as StorageError, channel);
      throw error;
    }
  }

  const channel: ThreadClient = {
    ...raw,
    async run(batch) {
      const results = await unlessSilent(raw.run(batch));
      ended(batch, results);
      return results;
    },
    close: () => unlessSilent(raw.close()),
  };
  return channel;
}
