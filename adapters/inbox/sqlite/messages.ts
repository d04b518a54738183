import type { NewJob } from "../../../src/adapter.ts";
import type { Batch, TaskError, TaskResult } from "./batch.ts";
import type { Counts } from "./counters.ts";

/** What the commit thread is started with. */
export interface ThreadOptions {
  readonly file: string;
  /** Of the receiver. */
  readonly name: string;
  /** How long a natural key is remembered. */
  readonly dedupeWindowMs: number;
}

/** One delivery as it crosses to the commit thread; its body is a part of the batch's bytes. */
export interface DeliveryRecord {
  readonly receivedAt: number;
  readonly sentAt: number;
  readonly source: string | undefined;
  readonly signedBy: string;
  readonly signature: string;
  /** JSON. */
  readonly headers: string;
}

/** The same as it comes back. */
export interface DeliveryRow extends DeliveryRecord {
  readonly id: number;
  readonly body: Uint8Array;
}

/** One event with its jobs. */
export interface EventRecord {
  readonly entry: number;
  readonly type: string;
  readonly accountId: number | undefined;
  readonly subscription: number | undefined;
  readonly unique: { readonly key: string; readonly content: string } | undefined;
  readonly jobs: readonly NewJob[];
}

export interface KeepRecord {
  readonly delivery: DeliveryRecord;
  /** Where its body is in the batch's bytes. */
  readonly offset: number;
  readonly length: number;
  readonly events: readonly EventRecord[] | undefined;
  /** Now. */
  readonly at: number;
}

export interface ExpandRecord {
  readonly id: number;
  readonly events: readonly EventRecord[];
  readonly cursor: number | undefined;
  /** Now. */
  readonly at: number;
}

/** What became of the events, by their index. */
export interface Made {
  readonly duplicates: readonly number[];
  readonly conflicts: readonly number[];
  /** Of the waiting jobs, in the order of the events that are no duplicates. */
  readonly ids: readonly number[];
}

/** How far an unsettled job has come. */
interface ProgressRecord {
  readonly attempts: number;
  readonly deaths: number;
  readonly firstAttemptAt: number | null;
  readonly runAt: number;
  readonly delayMs: number;
  /** JSON. */
  readonly error: string | null;
}

/** What becomes of one job. */
export type SettleRecord =
  | { readonly id: number; readonly to: "done" }
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

/** Of one that was never tried. */
export const FRESH_ROW = { attempts: 0, deaths: 0, firstAttemptAt: null, runAt: 0, delayMs: 0, error: null };

/** To the commit thread. */
export type ToThread = { readonly type: "batch"; readonly batch: Batch } | { readonly type: "close" };

/** From the commit thread; `results` come in the order of the batches. */
export type FromThread =
  | { readonly type: "open"; readonly counts: Counts }
  | { readonly type: "failed"; readonly error: TaskError }
  | { readonly type: "results"; readonly results: readonly TaskResult[]; readonly counts: Counts }
  /** Another process has committed. */
  | { readonly type: "changed"; readonly counts: Counts }
  | { readonly type: "closed" };
