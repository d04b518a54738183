// Without its prefix: webpack 5.112 takes a thread's program along for either name, and breaks the call for the one with the prefix.
// oxlint-disable-next-line boundaries/imports
import { Worker, type WorkerOptions } from "worker_threads";
import { StorageError } from "../../../../src/adapter.ts";
import { outOfFiles } from "../disk/file-errors.ts";
import type { Counts } from "../thread/counters.ts";
import { toTaskError, type Batch, type TaskError, type TaskResult } from "../thread/transaction.ts";
import type { FromThread, ThreadOptions, ToThread } from "./thread-protocol.ts";
import { toStorageError } from "./to-storage-error.ts";

/** A connection to a commit thread. */
export interface ThreadClient {
  /** Identity of the open file; undefined where it is unknown. */
  readonly fileId: string | undefined;
  /** Rejects where the outcome is unknown: the thread ended before it answered. */
  run(batch: Batch): Promise<readonly TaskResult[]>;
  /** Lets the process end while the thread lives, but not while a batch is under way. */
  unref(): void;
  close(): Promise<void>;
  /**
   * Ends the thread wherever it is. Its current batch may be committed, even later: a thread that waits for the disk ends when the disk
   * answers.
   */
  abandon(): void;
}

export interface ThreadEvents {
  /** How much there is now: before the results of a batch, too. */
  readonly counted: (counts: Counts) => void;
  /** Another process has committed. */
  readonly changed: () => void;
  /** The thread ended by itself. */
  readonly ended: (error: StorageError) => void;
}

/** Starts a commit thread; resolves when it has the file open. @throws StorageError with the thread's reason */
export async function openThread(
  { threadUrl, ...options }: ThreadOptions & { readonly threadUrl?: URL | undefined },
  events: ThreadEvents,
): Promise<ThreadClient> {
  const worker = startThread(threadUrl, options);
  const waiting: { resolve(results: readonly TaskResult[]): void; reject(error: StorageError): void }[] = [];
  let over: StorageError | undefined;
  let closed: (() => void) | undefined;
  let isLoose = false;
  let fileId: string | undefined;

  function end(error: StorageError): void {
    if (over !== undefined) return;
    over = error;
    for (const { reject } of waiting.splice(0)) reject(error);
    events.ended(error);
  }

  const channel: ThreadClient = {
    get fileId() {
      return fileId;
    },
    run(batch) {
      if (over !== undefined) return Promise.reject(over);
      if (isLoose) worker.ref();
      return new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        const { bytes } = batch;
        worker.postMessage(
          { type: "batch", batch } satisfies ToThread,
          bytes.byteLength > 0 ? [bytes.buffer as ArrayBuffer] : [],
        );
      });
    },
    unref() {
      isLoose = true;
      if (waiting.length === 0) worker.unref();
    },
    close: () =>
      new Promise((resolve) => {
        over ??= new StorageError("storage-failed", "The inbox is closed.");
        closed = resolve;
        worker.ref();
        worker.once("exit", () => resolve());
        worker.postMessage({ type: "close" } satisfies ToThread);
      }),
    abandon() {
      over ??= new StorageError("storage-failed", "The commit thread was given up.");
      for (const { reject } of waiting.splice(0)) reject(over);
      worker.unref();
      void worker.terminate();
    },
  };

  return new Promise((resolve, reject) => {
    worker.on("message", (message: FromThread) => {
      switch (message.type) {
        case "open":
          events.counted(message.counts);
          ({ fileId } = message);
          resolve(channel);
          break;
        case "failed": {
          const failed = toStorageError(message.error);
          reject(failed);
          end(failed);
          break;
        }
        case "results":
          events.counted(message.counts);
          waiting.shift()?.resolve(message.results);
          if (isLoose && waiting.length === 0) worker.unref();
          break;
        case "changed":
          events.counted(message.counts);
          events.changed();
          break;
        case "closed":
          closed?.();
      }
    });
    worker.on("error", (error: Partial<TaskError>) => {
      // Beside its batches it only looks into the file: what SQLite says there is the file's.
      // So is that it could not even begin, for want of files.
      const failed = NOT_FOUND.has(error.code)
        ? toMissing(error)
        : error.errcode === undefined && outOfFiles(error) === undefined
          ? toLost("failed", error)
          : toStorageError(toTaskError(error));
      reject(failed);
      end(failed);
    });
    worker.on("exit", () => {
      const failed = toLost("ended");
      reject(failed);
      end(failed);
    });
  });
}

function startThread(threadUrl: URL | undefined, workerData: ThreadOptions): Worker {
  const options: WorkerOptions = { workerData, name: "hookline commits" };
  const here: string | undefined = import.meta.url; // undefined in a bundle of CommonJS
  if (threadUrl !== undefined) return new Worker(threadUrl, options);
  if (here === undefined) throw toMissing();
  if (here.endsWith(".ts"))
    return new Worker(new URL(here.replace(/client\/[^/]+$/, "thread/commit-thread.ts")), options);
  // Only where it is written like this, in one expression, do bundlers take the thread's program along.
  return new Worker(new URL("../thread/commit-thread.js", import.meta.url), options);
}

const NOT_FOUND: ReadonlySet<string | undefined> = new Set(["MODULE_NOT_FOUND", "ERR_MODULE_NOT_FOUND"]);

function toMissing(cause?: unknown): StorageError {
  return new StorageError("thread-missing", "The program of the commit thread is not where it should be.", {
    cause,
    fix: "A bundler left it out: make `hookline/sqlite-thread` an entry of the build, and give sqliteInbox its file as `threadUrl`; docs/deploy/bundlers.md shows it for each bundler.",
  });
}

function toLost(how: string, cause?: unknown): StorageError {
  return new StorageError("thread-lost", `The commit thread ${how} before it answered.`, {
    cause,
    fix: "Nothing was acknowledged, and another thread takes its place; if it comes again, see the cause in the log.",
  });
}
