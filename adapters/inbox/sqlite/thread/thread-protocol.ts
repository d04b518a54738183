import type { Converting } from "../schema/convert-file.ts";
import type { FileCounts } from "./file-state.ts";
import type { Batch, TaskError, TaskResult } from "./transaction.ts";

/** What the commit thread is started with. */
export interface ThreadOptions {
  readonly file: string;
  /** Of the receiver. */
  readonly name: string;
  /** How long a natural key is remembered. */
  readonly dedupeWindowMs: number;
  /** The file was damaged: all of it is looked at first. */
  readonly isSuspect?: boolean | undefined;
}

/** Where the thread notes what it saw: see last-look.ts. */
export interface LookMemory {
  readonly lookMemory: SharedArrayBuffer;
}

/** To the commit thread. */
export type ToThread = { readonly type: "batch"; readonly batch: Batch } | { readonly type: "close" };

/** From the commit thread; `results` come in the order of the batches. Counts are left out where they are as they were. */
export type FromThread =
  | { readonly type: "open"; readonly counts: FileCounts; readonly fileId: string | undefined }
  /** It is opened, and is of an older version. */
  | { readonly type: "converting"; readonly converting: Converting }
  /** It cannot be opened, or not be used any more: the thread ends. What was under way may have held. */
  | { readonly type: "failed"; readonly error: TaskError }
  | { readonly type: "results"; readonly results: readonly TaskResult[]; readonly counts?: FileCounts | undefined }
  /** Another process has committed. */
  | { readonly type: "changed"; readonly counts?: FileCounts | undefined }
  | { readonly type: "closed" };
