import type { JobError, LaneWindow } from "../../../../src/adapter.ts";

/** A delivery as it comes from the file. */
export interface DeliveryRow {
  readonly id: number;
  readonly receivedAt: number;
  readonly sentAt: number;
  readonly source: string | null;
  readonly signedBy: string;
  readonly signature: string;
  /** See `decodeHeaders` of delivery-record.ts. */
  readonly headers: string;
  readonly body: Uint8Array;
}

/** The jobs that a commit is to make of some events, in their order: each gets the next id. */
export interface NewJobs {
  /** JSON of their lines: see `Line` of job-lists.ts. Written as it is. */
  readonly lines: string;
  /** One letter a job. */
  readonly states: string;
  readonly account: number | null;
  readonly subscription: number | null;
  /** JSON of {@link Extras}; null for most. */
  readonly extras: string | null;
}

/** The letters of {@link NewJobs.states}. A fresh job is claimed as soon as the commit holds. */
export const STATE = { fresh: "f", waiting: "w", skipped: "s", unhandled: "u" } as const;

/** What only some events have. */
export interface Extras {
  /** Natural keys, with the places of the jobs that are not made of a duplicate. */
  readonly unique: readonly (readonly [
    key: string,
    content: string,
    event: number,
    firstPlace: number,
    jobs: number,
  ])[];
  /** Lifecycle notices; the error is null where the subscription works. */
  readonly notices: readonly NoticeRecord[];
}

export type NoticeRecord = readonly [account: number, subscription: number, resource: string, error: string | null];

/** Deliveries to store, from the bytes of the batch. */
export interface StoreInput {
  /** Where the first one begins. */
  readonly offset: number;
  readonly count: number;
  /** Now. */
  readonly at: number;
}

/** What became of deliveries, in their order. Ids follow each other: a delivery's, then those of its jobs. */
export interface StoreOutput {
  readonly firstId: number;
  /** The first ones; those behind them wait to be expanded. */
  readonly expanded: number;
  /** By the delivery's place. */
  readonly seen: readonly (readonly [place: number, seen: Seen])[];
  /** Places of deliveries that were stored before: they have no id. */
  readonly repeated: readonly number[];
}

/** Events that were seen before, by their index. */
export interface Seen {
  readonly duplicates: readonly number[];
  readonly conflicts: readonly number[];
}

export interface ExpandInput extends NewJobs {
  readonly id: number;
  /** Where the delivery must stand for this; undefined: anywhere. */
  readonly from: number | undefined;
  readonly cursor: number | undefined;
  /** Now. */
  readonly at: number;
}

export interface ExpandOutput extends Seen {
  readonly firstJob: number;
  readonly receivedAt: number;
}

/** How far an open job has come. */
export interface ProgressRecord {
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
  /** Ids: as if they had not been claimed. */
  readonly released: readonly number[];
  readonly others: readonly OtherRecord[];
  /** Where they have changed. */
  readonly windows: readonly WindowRecord[];
}

/** What a lane has inherited from now on; null: nothing. */
export type WindowRecord = readonly [lane: string, window: LaneWindow | null];

/** What becomes of one job that is not done. */
export type OtherRecord = { readonly id: number } & (({ readonly to: "waiting" } & ProgressRecord) | EndRecord);

/** A job that ends otherwise than done. */
export interface EndRecord {
  readonly to: "dead" | "unhandled";
  readonly attempts: number;
  /** JSON. */
  readonly error: string | null;
  readonly settledAt: number;
}

/** An open job on its way between threads, where there may be a million of them. */
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
  account?: number | null,
];

/** A page of rows as text: a million of them as objects would keep both threads busy for ten times as long. */
export interface TextPage {
  /** Where to go on; null: there are no more. */
  readonly last: number | null;
  /** JSON of a list of them. */
  readonly rows: string;
}

/** What a row has of the last error of its job. One that cannot be read says so: it is no reason to lose the job. */
export function toJobError(stored: string | null): JobError | undefined {
  if (stored === null) return undefined;
  try {
    return JSON.parse(stored) as JobError;
  } catch {
    return { name: "Error", message: "What the file had of this error cannot be read.", at: 0 };
  }
}
