import type { Clock } from "../clock.ts";
import type { StorageError } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { SingleEvent } from "../protocol/events.ts";
import type { Delivery, StoredDelivery } from "./delivery.ts";
import type { JobState } from "./job.ts";

/** Where kept deliveries live, hence what they outlive. */
export type Keeps = "memory" | "disk" | "network";

/** Where deliveries and jobs are kept. Its verbs are in `hookline/adapter`. */
export interface Inbox<out K extends Keeps = Keeps> {
  readonly keeps: K;
}

/** What the receiver gives an inbox to work with. */
export interface InboxHost {
  /** Namespace in a shared store: what one name keeps, another never sees. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long a natural key of tracking and booking is remembered, milliseconds. */
  readonly dedupeWindowMs: number;
}

/** The writing half: all that a receiving process needs. */
export interface WritingInbox<K extends Keeps = Keeps> extends Inbox<K> {
  /** Called once before any other verb, and again after a failure; resolves when deliveries can be kept. */
  open(host: InboxHost): Promise<void>;
  /**
   * Resolves when all are durable, each by itself: a {@link StorageError} in a place says that this one is not certain to be kept.
   * A delivery with all its jobs and their unique keys is one atomic record. Ids grow in the order of the array. Events are
   * taken only where no older delivery is unexpanded; else the delivery is kept unexpanded.
   */
  keep(deliveries: readonly NewDelivery[]): Promise<readonly (Kept | StorageError)[]>;
  readonly tombstones: Tombstones;
  /** Whether the next `keep` can succeed, with the cause if not. Cheap: asked at every health check. */
  ready(): Readiness;
  /** Ends what `open` began. Everything kept stays. */
  close(): Promise<void>;
  /** Handlers outlive the receiver's close: what is kept open for them is not to keep the process. */
  unref?(): void;
}

/** The working half: what a process with handlers needs beyond the writing one. */
export interface WorkingInbox<K extends Keeps = Keeps> extends WritingInbox<K> {
  /** Asks for the worker's place; resolves when it is had (`begin` was called) or another has it and this process stands by. */
  work(worker: Worker): Promise<void>;
  /** The oldest deliveries that are not wholly expanded, in order; none while there is no room for their jobs. */
  unexpanded(max: number): Promise<readonly Unexpanded[]>;
  /** The same as `keep` for those kept before: jobs, unique keys and the cursor are one atomic record. In the order of `unexpanded`. */
  expand(expansions: readonly Expansion[]): Promise<readonly Expanded[]>;
  /**
   * The heads of free lanes that are due, each with the run behind it that has the same merge key. Never two claims on a lane.
   * The attempt counts from here. A job over which the process died twice comes only when asked for, without a run.
   */
  claim(limits: ClaimLimits): Promise<Claimed>;
  /** By token: `false` says that the claim was lost, and nothing changed. The lane's next is claimable in the same write. */
  settle(settlements: readonly Settlement[]): Promise<readonly boolean[]>;
  readonly jobs: InboxJobs;
  /** Cheap: asked at every health check. */
  stats(): InboxStats;
  readonly capabilities: Capabilities;
}

/** What an inbox tells the process that works on it. All of it is lossy but `begin`: the worker also looks by itself. */
export interface Worker {
  /** This process works from now on. */
  begin(): void;
  /** There may be something to expand or to claim. */
  wake(): void;
  /** These claims ended without being settled: their handlers are to stop, their outcome will not count. */
  lost(claims: readonly Claim[]): void;
}

/** A delivery to keep, with its events if this process works. */
export interface NewDelivery {
  readonly delivery: Delivery;
  /** Undefined: keep it unexpanded. */
  readonly events: readonly NewEvent[] | undefined;
}

/** One event of a delivery with a job for each of its consumers. */
export interface NewEvent {
  /** Its place in the delivery, from 0. */
  readonly entry: number;
  /** May be held for the run to come; an inbox that does not hold it gives the delivery at the claim. */
  readonly event: SingleEvent;
  /** An event with this key that was seen within the window makes no job, unless its content differs. */
  readonly unique: { readonly key: string; readonly content: string } | undefined;
  readonly jobs: readonly NewJob[];
}

/** A job to make: for one consumer, or for none. */
export interface NewJob {
  /** `skipped` and `unhandled` have no consumer and hold no lane. */
  readonly state: "waiting" | "skipped" | "unhandled";
  readonly consumer: string | undefined;
  /** Undefined: nothing keeps it waiting but itself. */
  readonly lane: string | undefined;
  /** Undefined: never merged. */
  readonly mergeKey: string | undefined;
}

export interface Kept extends Expanded {
  readonly id: string;
  /** False: it waits for `expand`. */
  readonly expanded: boolean;
}

/** What became of the events, by their index in the array that was given. */
export interface Expanded {
  /** Seen before with the same content: no job was made. */
  readonly duplicates: readonly number[];
  /** Seen before with other content: jobs were made. */
  readonly conflicts: readonly number[];
}

/** A delivery that waits to be expanded, wholly or from an entry on. */
export interface Unexpanded {
  readonly id: string;
  readonly delivery: Delivery;
  /** The entry to go on with. */
  readonly cursor: number;
}

/** The next events of a delivery that was kept before. */
export interface Expansion {
  readonly id: string;
  readonly events: readonly NewEvent[];
  /** Where to go on next time; undefined when the delivery is wholly expanded. */
  readonly cursor: number | undefined;
}

/** How much to claim. */
export interface ClaimLimits {
  readonly max: number;
  /** Jobs in a run. */
  readonly mergeMax: number;
  /** Only jobs over which the process died twice; else none of them. */
  readonly suspects?: boolean | undefined;
}

/** What a claim found. */
export interface Claimed {
  readonly claims: readonly Claim[];
  /** Wall-clock time at which the next waiting job is due, if one waits for its time. */
  readonly nextDueAt: number | undefined;
  /** Some that are due come only when asked for: see {@link ClaimLimits.suspects}. */
  readonly suspects: boolean;
}

/** The right to run some jobs, oldest first: one, or a run that merges. It is its own token. */
export interface Claim {
  readonly jobs: readonly [ClaimedJob, ...ClaimedJob[]];
}

/** A job whose turn it is. */
export interface ClaimedJob {
  readonly id: string;
  readonly deliveryId: string;
  readonly entry: number;
  readonly consumer: string;
  readonly lane: string | undefined;
  readonly mergeKey: string | undefined;
  /** From 1, this one included. */
  readonly attempt: number;
  /** Wall-clock time of the first attempt: this one's, or an earlier one's. */
  readonly firstAttemptAt: number;
  /**
   * How often the process died while it was claimed, since it last ended: each counted one attempt, too. From the third on a claim counts
   * none, because it will not be run.
   */
  readonly deaths: number;
  readonly replayOf: string | undefined;
  readonly delivery: Delivery;
  /** Where the inbox still holds it. */
  readonly event: SingleEvent | undefined;
}

/** What becomes of a claim: one outcome for each of its jobs, in their order. */
export interface Settlement {
  readonly claim: Claim;
  readonly outcomes: readonly JobOutcome[];
}

/** What becomes of one job. */
export type JobOutcome =
  | { readonly to: "done" }
  /** Due at `at`, which is `delayMs` from now. Not `counted`: this attempt is taken back. */
  | {
      readonly to: "retry";
      readonly at: number;
      readonly delayMs: number;
      readonly counted: boolean;
      readonly error: JobError;
    }
  | { readonly to: "dead"; readonly error: JobError }
  /** As if it had not been claimed. */
  | { readonly to: "release" }
  /** Its handler is gone: it waits for one, holding no lane. */
  | { readonly to: "unhandled" };

/** What is kept of whatever a handler threw; `at` in milliseconds since the epoch. */
export interface JobError {
  readonly name: string;
  readonly message: string;
  readonly at: number;
}

/** Looking inside, and changing by hand. */
export interface InboxJobs {
  /** In the order of ids, at most `limit` after `after`; `next` goes on. */
  find(
    query: JobQuery & { readonly after?: string | undefined; readonly limit: number },
  ): Promise<{ readonly jobs: readonly StoredJob[]; readonly next?: string }>;
  /** One job with the kept bytes of its delivery. */
  get(id: string): Promise<{ readonly job: StoredJob; readonly delivery: StoredDelivery } | undefined>;
  /** A new job at the tail of the lane for each, past the unique keys. Takes settled and unhandled jobs that have a consumer. */
  replay(selection: JobSelection): Promise<number>;
  /** Takes waiting, dead and unhandled jobs; a running one is left. */
  drop(selection: JobSelection): Promise<number>;
  /**
   * Every job and delivery of the account, whatever their state, unexpanded ones too; running claims are lost. Their lanes stay closed until
   * they are settled all the same, because a handler may ignore its signal.
   */
  erase(accountId: number): Promise<number>;
  /** Unhandled jobs, in the order of ids. */
  unhandled(page: { readonly after?: string | undefined; readonly limit: number }): Promise<readonly UnhandledJob[]>;
  /** Replaces an unhandled job by jobs for those who handle it now, atomically. */
  reopen(replacements: readonly { readonly id: string; readonly jobs: readonly NewJob[] }[]): Promise<void>;
}

/** A job that waits for somebody to handle its event. */
export interface UnhandledJob {
  readonly id: string;
  readonly event: SingleEvent | undefined;
  readonly entry: number;
  /** Whose handler went; undefined when nobody ever had one. */
  readonly consumer: string | undefined;
  readonly delivery: Delivery;
}

/** Which jobs: all that are given must hold. */
export interface JobQuery {
  readonly states?: readonly JobState[] | undefined;
  /** Types of events. */
  readonly types?: readonly string[] | undefined;
  readonly accountId?: number | undefined;
  readonly subscription?: number | undefined;
  readonly consumer?: string | undefined;
  /** Milliseconds since the epoch; after it, not at it. */
  readonly receivedAfter?: number | undefined;
  readonly receivedBefore?: number | undefined;
}

/** Jobs by their ids, or by a query that names its states. */
export type JobSelection = { readonly ids: readonly string[] } | (JobQuery & { readonly states: readonly JobState[] });

/** A job as an inbox knows it. */
export interface StoredJob {
  readonly id: string;
  readonly deliveryId: string;
  readonly entry: number;
  readonly state: JobState;
  readonly event: SingleEvent | undefined;
  readonly consumer: string | undefined;
  readonly lane: string | undefined;
  readonly attempts: number;
  readonly error: JobError | undefined;
  readonly receivedAt: number;
  readonly runAt: number | undefined;
  readonly settledAt: number | undefined;
  readonly replayOf: string | undefined;
}

/** The durable notes that subscriptions are unwanted. */
export interface Tombstones {
  /** True when there is none at all: nothing needs to be looked up. */
  readonly isEmpty: boolean;
  /** Synchronous, from a copy that is at most 1 s old; a hit keeps the tombstone for another 30 days. */
  find(subscription: number, source: string | undefined): Tombstone | undefined;
  /** Resolves when durable. Without a source it stands for every source. */
  put(tombstone: {
    readonly subscription: number;
    readonly source: string | undefined;
    readonly reason: string;
  }): Promise<void>;
  /** Without a source: every tombstone of the subscription. */
  lift(subscription: number, source: string | undefined): Promise<void>;
  /** All that stand. */
  list(): Promise<readonly Tombstone[]>;
}

/** The note that one subscription is unwanted. */
export interface Tombstone {
  readonly subscription: number;
  /** Undefined: every source. */
  readonly source: string | undefined;
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly lastHit: number;
}

/** Whether a delivery could be kept now. */
export type Readiness =
  | { readonly ready: true }
  | {
      readonly ready: false;
      readonly error: StorageError;
      /** It gets no better in this process: only another one can help. @default false */
      readonly hopeless?: boolean;
    };

/** How much there is, in jobs. */
export interface InboxStats {
  readonly unexpanded: number;
  readonly waiting: number;
  readonly running: number;
  readonly dead: number;
  readonly unhandled: number;
  /** Lanes whose head waits for its retry. */
  readonly blockedLanes: number;
  /** When the oldest delivery was received that waits to be expanded, or has a job that waits. */
  readonly oldestWaitingAt: number | undefined;
  /** Where it is on a disk. */
  readonly disk?: InboxDisk;
}

/** How the disk of an inbox stands. */
export interface InboxDisk {
  /** Undefined where it is not known. */
  readonly freeBytes: number | undefined;
  /** How often something failed so that the file was opened anew, and when last; undefined where it never was. */
  readonly reopened: { readonly count: number; readonly lastAt: number } | undefined;
}

/** What an inbox promises beyond the port. */
export interface Capabilities {
  /** `none`: gone with the process. `fsync`: survives a power cut. `quorum`: survives a machine. */
  readonly durability: "none" | "fsync" | "quorum";
  /** `strict`: never two at once in a lane. `valid-claims`: never two valid claims; a stalled process may overlap. */
  readonly order: "strict" | "valid-claims";
  /** Whether several processes can receive into it. */
  readonly shared: boolean;
}
