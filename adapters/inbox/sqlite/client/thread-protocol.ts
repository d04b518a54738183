import type { LaneWindow, NewJob } from "../../../../src/adapter.ts";
import type { Counts } from "../thread/counters.ts";
import type { Batch, TaskError, TaskResult } from "../thread/transaction.ts";

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

/** A delivery as it comes from the file. */
export interface DeliveryRow {
  readonly id: number;
  readonly receivedAt: number;
  readonly sentAt: number;
  readonly source: string | null;
  readonly signedBy: string;
  readonly signature: string;
  /** JSON. */
  readonly headers: string;
  readonly body: Uint8Array;
}

// What every delivery brings crosses as tuples: objects cost five times as much on their way between threads.

/** A delivery to keep. Its body is beside it. */
export type DeliveryRecord = readonly [
  receivedAt: number,
  sentAt: number,
  source: string | null,
  signedBy: string,
  signature: string,
  headers: string,
  /** Now. */
  at: number,
  /** Null: it is stored unexpanded. */
  events: readonly EventRecord[] | null,
];

/** One event with its jobs. */
export type EventRecord = readonly [
  entry: number,
  type: string,
  accountId: number | null,
  subscription: number | null,
  unique: readonly [key: string, content: string] | null,
  jobs: readonly JobRecord[],
  /** Of a lifecycle notice; the error is null where the subscription works. */
  notice?: readonly [resource: string, error: string | null],
];

/** A job to make. */
export type JobRecord = readonly [
  state: NewJob["state"],
  consumer: string | null,
  lane: string | null,
  mergeKey: string | null,
  /** It may run as soon as it is made. */
  isSpeculative?: true,
];

export interface ExpandRecord {
  readonly id: number;
  readonly events: readonly EventRecord[];
  readonly cursor: number | undefined;
  /** Now. */
  readonly at: number;
}

/** What became of the events, by their index. Ids are given to their jobs one after the other, from the first on. */
export interface Made {
  readonly firstJob: number;
  readonly duplicates: readonly number[];
  readonly conflicts: readonly number[];
}

/** What became of a delivery: it waits to be expanded where nothing was made. Undefined stands for no numbers. */
export type StoredRecord = readonly [
  id: number,
  expanded: boolean,
  duplicates?: readonly number[],
  conflicts?: readonly number[],
];

/** How far an unsettled job has come. */
interface ProgressRecord {
  readonly attempts: number;
  readonly deaths: number;
  readonly groupMax: number | null;
  readonly firstAttemptAt: number | null;
  readonly runAt: number;
  readonly delayMs: number;
  /** JSON. */
  readonly error: string | null;
}

/** What becomes of some jobs. */
export interface SettleRecord {
  /** Ids. */
  readonly done: readonly number[];
  readonly others: readonly OtherRecord[];
  /** Where they have changed. */
  readonly windows: readonly WindowRecord[];
}

/** What a lane has inherited from now on; null: nothing. */
export type WindowRecord = readonly [lane: string, window: LaneWindow | null];

/** What becomes of one job that is not done. */
export type OtherRecord =
  | ({ readonly id: number; readonly to: "waiting" } & ProgressRecord)
  | {
      readonly id: number;
      readonly to: "dead" | "unhandled";
      readonly attempts: number;
      readonly error: string | null;
      readonly settledAt: number;
    };

/** An unsettled job as it is loaded. */
export interface JobRow extends ProgressRecord {
  readonly id: number;
  readonly delivery: number;
  readonly entry: number;
  readonly consumer: string;
  readonly lane: string | null;
  readonly mergeKey: string | null;
  readonly receivedAt: number;
  readonly replayOf: number | null;
}

/** The same on its way between threads, where there may be a million of them. */
export type LoadedJob = readonly [
  id: number,
  delivery: number,
  entry: number,
  consumer: string,
  lane: string | null,
  mergeKey: string | null,
  receivedAt: number,
  replayOf: number | null,
  /** Null: it was never tried. */
  progress: ProgressRecord | null,
];

/** Of one that was never tried. */
export const FRESH_ROW = {
  attempts: 0,
  deaths: 0,
  groupMax: null,
  firstAttemptAt: null,
  runAt: 0,
  delayMs: 0,
  error: null,
};

/** To the commit thread. */
export type ToThread = { readonly type: "batch"; readonly batch: Batch } | { readonly type: "close" };

/** From the commit thread; `results` come in the order of the batches. Counts are left out where they are as they were. */
export type FromThread =
  | { readonly type: "open"; readonly counts: Counts; readonly fileId: string | undefined }
  /** It cannot be opened, or not be used any more: the thread ends. What was under way may have held. */
  | { readonly type: "failed"; readonly error: TaskError }
  | { readonly type: "results"; readonly results: readonly TaskResult[]; readonly counts?: Counts | undefined }
  /** Another process has committed. */
  | { readonly type: "changed"; readonly counts?: Counts | undefined }
  | { readonly type: "closed" };
