import { Worker } from "node:worker_threads";
import { StorageError } from "../../../src/adapter.ts";
import type { Batch, TaskError, TaskResult } from "./batch.ts";
import type { Counts } from "./counters.ts";
import type { FromThread, ThreadOptions, ToThread } from "./messages.ts";

/** The way to a commit thread. */
export interface Channel {
  /** Rejects where the outcome is unknown: the thread ended before it answered. */
  run(batch: Batch): Promise<readonly TaskResult[]>;
  /** Lets the process end while the thread lives. */
  unref(): void;
  close(): Promise<void>;
  /** Ends the thread wherever it is. What it was doing may still have been committed. */
  abandon(): void;
}

export interface ChannelEvents {
  /** How much there is now: before the results of a batch, too. */
  readonly counted: (counts: Counts) => void;
  /** Another process has committed. */
  readonly changed: () => void;
  /** The thread ended by itself. */
  readonly ended: (error: StorageError) => void;
}

/** Beside this file, as it was written or as it was built. */
const THREAD = new URL(import.meta.url.endsWith(".ts") ? "./commit-thread.ts" : "./commit-thread.js", import.meta.url);

/** Starts a commit thread; resolves when it has the file open. @throws StorageError with the thread's reason */
export function openChannel(options: ThreadOptions, events: ChannelEvents): Promise<Channel> {
  const worker = new Worker(THREAD, { workerData: options, name: "hookline commits" });
  const waiting: { resolve(results: readonly TaskResult[]): void; reject(error: StorageError): void }[] = [];
  let over: StorageError | undefined;
  let closed: (() => void) | undefined;

  function end(error: StorageError): void {
    if (over !== undefined) return;
    over = error;
    for (const { reject } of waiting.splice(0)) reject(error);
    events.ended(error);
  }

  const channel: Channel = {
    run(batch) {
      if (over !== undefined) return Promise.reject(over);
      return new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        const { bytes } = batch;
        worker.postMessage(
          { type: "batch", batch } satisfies ToThread,
          bytes.byteLength > 0 ? [bytes.buffer as ArrayBuffer] : [],
        );
      });
    },
    unref: () => worker.unref(),
    close: () =>
      new Promise((resolve) => {
        over ??= new StorageError("storage-failed", "The inbox is closed.");
        closed = resolve;
        worker.once("exit", () => resolve());
        worker.postMessage({ type: "close" } satisfies ToThread);
      }),
    abandon() {
      over ??= new StorageError("storage-failed", "The commit thread was given up.");
      for (const { reject } of waiting.splice(0)) reject(over);
      void worker.terminate();
    },
  };

  return new Promise((resolve, reject) => {
    worker.on("message", (message: FromThread) => {
      switch (message.type) {
        case "open":
          events.counted(message.counts);
          resolve(channel);
          break;
        case "failed":
          over = toStorageError(message.error);
          reject(over);
          break;
        case "results":
          events.counted(message.counts);
          waiting.shift()?.resolve(message.results);
          break;
        case "changed":
          events.counted(message.counts);
          events.changed();
          break;
        case "closed":
          closed?.();
      }
    });
    worker.on("error", (error) => {
      const failed = new StorageError("storage-failed", "The commit thread failed.", { cause: error });
      reject(failed);
      end(failed);
    });
    worker.on("exit", () => {
      const failed = new StorageError("storage-failed", "The commit thread ended.");
      reject(failed);
      end(failed);
    });
  });
}

/** A thread's error on this side. */
export function toStorageError({ code, message, fix, errcode }: TaskError): StorageError {
  const full = errcode !== undefined && errcode % 256 === 13;
  return new StorageError(full ? "disk-full" : KNOWN.has(code) ? code : "storage-failed", message, { fix });
}

/** Whether a commit's outcome is unknown, or the file is not what it was: it is to be opened anew. */
export function isDoubtful({ errcode }: TaskError): boolean {
  return errcode !== undefined && DOUBTFUL.has(errcode % 256);
}

const DOUBTFUL: ReadonlySet<number> = new Set([10, 11, 14, 26]); // ioerr corrupt cantopen notadb

const KNOWN: ReadonlySet<string> = new Set([
  "network-file-system",
  "pragma-refused",
  "schema-newer",
  "name-differs",
  "file-busy",
  "epoch-stale",
]);
