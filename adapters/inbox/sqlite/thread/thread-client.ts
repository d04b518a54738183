// Without its prefix: webpack 5.112 takes a thread's program along for either name, and breaks the call for the one with the prefix.
// oxlint-disable-next-line boundaries/imports
import { Worker, type WorkerOptions } from "worker_threads";
import { StorageError } from "../../../../src/adapter.ts";
import { outOfFiles } from "../connection/file-errors.ts";
import type { Converting } from "../schema/convert-file.ts";
import type { FileCounts } from "./file-state.ts";
import { toTaskError, type Batch, type TaskError, type TaskResult } from "./transaction.ts";
import { createLastLook, makeLookMemory, type LastLook } from "./last-look.ts";
import type { FromThread, LookMemory, ThreadOptions, ToThread } from "./thread-protocol.ts";
import { toStorageError } from "../connection/to-storage-error.ts";

/** A connection to a commit thread. */
export interface ThreadClient {
  /** Identity of the open file; undefined where it is unknown. */
  readonly fileId: string | undefined;
  /** What it last saw of what other processes commit. */
  readonly lastLook: LastLook["read"];
  /**
   * Rejects where the outcome is unknown: the thread ended before it answered.
   * @throws the error of `postMessage` where the batch cannot be sent: the thread and its other batches go on
   */
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
  readonly counted: (counts: FileCounts) => void;
  /** Before it is open: it is of an older version. */
  readonly converting: (converting: Converting) => void;
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
  const lookMemory = makeLookMemory();
  const worker = startThread(threadUrl, { ...options, lookMemory });
  const opened = Promise.withResolvers<ThreadClient>();
  const closed = Promise.withResolvers<void>();
  const waiting: PromiseWithResolvers<readonly TaskResult[]>[] = [];
  let over: StorageError | undefined;
  let isLoose = false;

  /** The first reason counts, also for what is run later. */
  function end(error: StorageError): void {
    const isFirst = over === undefined;
    over ??= error;
    opened.reject(over);
    for (const { reject } of waiting.splice(0)) reject(over);
    if (isFirst) events.ended(over);
  }

  const client: Omit<ThreadClient, "fileId"> = {
    lastLook: createLastLook(lookMemory).read,
    run(batch) {
      if (over !== undefined) return Promise.reject(over);
      const results = Promise.withResolvers<readonly TaskResult[]>();
      // Shared memory is not given away.
      const { buffer, byteLength } = batch.bytes;
      const given = byteLength > 0 && buffer instanceof ArrayBuffer ? [buffer] : [];
      worker.postMessage({ type: "batch", batch } satisfies ToThread, given);
      // Not before: where it throws, no answer comes.
      waiting.push(results);
      if (isLoose) worker.ref();
      return results.promise;
    },
    unref() {
      isLoose = true;
      if (waiting.length === 0) worker.unref();
    },
    close() {
      over ??= new StorageError("storage-failed", "The inbox is closed.");
      worker.ref();
      worker.postMessage({ type: "close" } satisfies ToThread);
      return closed.promise;
    },
    abandon() {
      over ??= new StorageError("storage-failed", "The commit thread was given up.");
      end(over);
      worker.unref();
      void worker.terminate();
    },
  };

  worker.on("message", (message: FromThread) => {
    if ("counts" in message && message.counts !== undefined) events.counted(message.counts);
    switch (message.type) {
      case "open":
        opened.resolve({ ...client, fileId: message.fileId });
        break;
      case "converting":
        events.converting(message.converting);
        break;
      case "failed":
        end(toStorageError(message.error, options.file));
        break;
      case "results":
        waiting.shift()?.resolve(message.results);
        if (isLoose && waiting.length === 0) worker.unref();
        break;
      case "changed":
        events.changed();
        break;
      case "closed":
        closed.resolve();
    }
  });
  worker.on("error", (error: Partial<TaskError>) => end(toThreadError(error)));
  worker.on("exit", () => {
    closed.resolve();
    end(toLost("ended"));
  });
  return opened.promise;
}

function startThread(threadUrl: URL | undefined, workerData: ThreadOptions & LookMemory): Worker {
  const options: WorkerOptions = { workerData, name: "hookline commits" };
  // A program from standard input, or from `--eval`, may have said what it is: of a file Node does not want to hear it.
  if (process.execArgv.some((argument) => argument.startsWith("--input-type"))) options.execArgv = [];
  const here: string | undefined = import.meta.url; // undefined in a bundle of CommonJS
  if (threadUrl !== undefined) return new Worker(threadUrl, options);
  if (here === undefined) throw toMissing();
  if (here.endsWith(".ts")) return new Worker(new URL(here.replace(/[^/]+$/, "commit-thread.ts")), options);
  // Only where it is written like this, in one expression, do bundlers take the thread's program along.
  return new Worker(new URL("./commit-thread.js", import.meta.url), options);
}

const NOT_FOUND: ReadonlySet<string | undefined> = new Set(["MODULE_NOT_FOUND", "ERR_MODULE_NOT_FOUND"]);

function toThreadError(error: Partial<TaskError>): StorageError {
  if (NOT_FOUND.has(error.code)) return toMissing(error);
  // Beside its batches it only looks into the file: what SQLite says there is the file's.
  // So is that it could not even begin, for want of files.
  const isOfFile = error.errcode !== undefined || outOfFiles(error) !== undefined;
  return isOfFile ? toStorageError(toTaskError(error)) : toLost("failed", error);
}

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
