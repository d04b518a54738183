import type { Clock, StorageError } from "../../../../src/adapter.ts";
import type { Batch, TaskResult } from "../thread/transaction.ts";
import type { ThreadClient, ThreadEvents } from "./thread-client.ts";
import type { Counts } from "../thread/counters.ts";
import type { ThreadOptions } from "./messages.ts";
import { unlessHung } from "./unless-hung.ts";
import { watchedChannel } from "./watchdog.ts";

/** Commit threads, one after the other: what an earlier one still says is not heard. */
export interface Threads {
  /** @throws StorageError with the thread's reason, or that it hangs */
  start(options: ThreadOptions): Promise<ThreadClient>;
  /** How much the newest says there is in the file. */
  counts(): Counts;
}

export interface ThreadsOptions {
  readonly openThread: (options: ThreadOptions, events: ThreadEvents) => Promise<ThreadClient>;
  readonly setTimer: Clock["setTimer"];
  /** Another process has committed. */
  readonly changed: () => void;
  /** It ended by itself, or hangs. */
  readonly lost: (error: StorageError, channel: ThreadClient) => void;
  /** A batch has its results. */
  readonly ended: (batch: Batch, results: readonly TaskResult[]) => void;
}

/** A thread that gives no answer for so long hangs; one that looks at all of a damaged file may take its time. */
const SILENT_MS = 30_000;
const LOOKING_MS = 10 * 60_000;

export function createThreads({ openThread, setTimer, changed, lost, ended }: ThreadsOptions): Threads {
  let counts: Counts = EMPTY;
  let newest = 0;

  return {
    async start({ file, name, dedupeWindowMs, isSuspect }) {
      newest += 1;
      const mine = newest;
      let channel: ThreadClient | undefined;
      const made = openThread(
        { file, name, dedupeWindowMs, isSuspect },
        {
          counted(given) {
            if (mine === newest) counts = given;
          },
          changed() {
            if (mine === newest) changed();
          },
          ended(error) {
            if (channel !== undefined) lost(error, channel);
          },
        },
      );
      try {
        const raw = await unlessHung(made, { ms: isSuspect === true ? LOOKING_MS : SILENT_MS, setTimer });
        channel = watchedChannel(raw, { ms: SILENT_MS, setTimer, lost, ended });
      } catch (error) {
        made.then((late) => late.abandon()).catch(() => {});
        throw error;
      }
      return channel;
    },
    counts: () => counts,
  };
}

const EMPTY: Counts = {
  unexpanded: 0,
  waiting: 0,
  running: 0,
  dead: 0,
  unhandled: 0,
  oldestUnexpandedAt: undefined,
  oldestUnsettledAt: undefined,
};
