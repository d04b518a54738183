import { kindOf } from "../../assert.ts";
import type { Clock } from "../../clock.ts";
import { UsageError, type StorageError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { Claim, Claimed, ClaimLimits, Settlement } from "./claims.ts";
import type { Expanded, Expansion, NewDelivery, StoreResult, Unexpanded } from "./delivery.ts";
import type { Gaps } from "./gaps.ts";
import type { HandledType, InboxJobs } from "./jobs.ts";
import type { KeyValues } from "./key-values.ts";
import type { Pauses } from "./pauses.ts";
import type { Subscriptions } from "./subscriptions.ts";
import type { Tombstones } from "./tombstones.ts";
import type { Transactional } from "./transactional.ts";

/** Where stored deliveries live, hence what they outlive. */
export type StorageKind = "memory" | "disk" | "network";

/** Where deliveries and jobs are stored. Its verbs are in `hookline/adapter`. */
export interface Inbox<out K extends StorageKind = StorageKind> {
  readonly storage: K;
  /** What a longer body does not fit into, such as a message of a queue. Undefined: only the receiver's own `maxBodyBytes` counts. */
  readonly maxBodyBytes?: number | undefined;
}

/** What the receiver gives an inbox. */
export interface InboxHost {
  /** Namespace in a shared store: data of one name is invisible to every other name. */
  readonly name: string;
  readonly clock: Clock;
  /** Throttled to a line a second for each code and level, because an inbox may fail at every delivery. */
  readonly log: Logger;
  /** How long a unique key of tracking and booking is remembered, milliseconds. */
  readonly dedupeWindowMs: number;
}

/** The writing half: all that a receiving process needs. */
export interface WritingInbox<K extends StorageKind = StorageKind> extends Inbox<K> {
  /**
   * Called once before any other verb, and again after a failure; resolves when deliveries can be stored. While a close still runs it waits
   * for its end, whoever opens it next.
   */
  open(host: InboxHost): Promise<void>;
  /**
   * Resolves when all deliveries are durable; a {@link StorageError} in a place says that this delivery is perhaps not stored.
   * A delivery is stored with all its jobs and unique keys atomically. Ids grow in the order of the array. Events become
   * jobs only if no older delivery is unexpanded; else the delivery is stored unexpanded. No text and no number in a delivery
   * keeps it, or another, from being stored; what the store does not hold, such as NUL, it replaces. After a rejection each
   * delivery comes again alone.
   */
  store(deliveries: readonly NewDelivery[]): Promise<readonly (StoreResult | StorageError)[]>;
  readonly tombstones: Tombstones;
  /**
   * Where processes share the limit on unsubscribes: whether this one may be done. One count for all of them, by one clock, in one step;
   * durable when it resolves to true. Undefined: each process counts its own. A rejection is no permission.
   */
  allowUnsubscribe?(asked: AskedUnsubscribe): Promise<boolean>;
  /** Whether the next `store` can succeed, with the cause if not. Cheap: every health check calls it. */
  ready(): Readiness;
  /** Undoes `open`, even while `open` or `work` is still running, and no later one. Unsettled claims end. Everything stored stays. */
  close(): Promise<void>;
  /** Called when handlers outlive the receiver's close: open resources must no longer keep the process alive. */
  unref?(): void;
}

/** An unsubscribe that a gate or a handler asks for. */
export interface AskedUnsubscribe {
  readonly subscription: number;
  readonly source: string | undefined;
  /**
   * How many different subscriptions may be unsubscribed within any hour, by a clock that does not go back. One that was allowed within the
   * hour is allowed again, and not counted. With 0 none is.
   */
  readonly maxPerHour: number;
}

/** The working half: what a process with handlers needs beyond the writing half. */
export interface WorkingInbox<K extends StorageKind = StorageKind> extends WritingInbox<K> {
  /**
   * Joins the workers; resolves when it may claim (`begin` was called) or, where only one process works, on standby. After a rejection
   * this process is no worker: others can become one, and the next call tries again.
   */
  work(worker: Worker): Promise<void>;
  /**
   * Where many work: this process claims and expands nothing more, and settles what it has claimed. What does not run here goes to the others
   * at once, and not when its last handler has ended.
   */
  stopWork?(): void;
  /** Where many work: whether another process works now, as far as its heart tells. */
  othersWork?(): Promise<boolean>;
  /**
   * Where many work: this process is no worker any more, until `work` is called again. Called while nothing that it claimed runs. So a process that
   * the platform may freeze keeps no lane from the others.
   */
  leave?(): Promise<void>;
  /**
   * The oldest deliveries that are not fully expanded, in order; none while there is no room for their jobs. One that cannot be read ends in
   * the inbox, with an error line: it keeps no other from being given.
   */
  unexpanded(max: number): Promise<readonly Unexpanded[]>;
  /**
   * Writes jobs, unique keys and the cursor of each stored delivery atomically. Called in the order of `unexpanded`. One worker expands
   * at a time: returns `undefined` for an expansion that was lost to another one, or is left to it; nothing changed. After a rejection
   * expansions come again one by one. One that fails on also comes without events, which moves nothing, and in the end with other jobs.
   */
  expand(expansions: readonly Expansion[]): Promise<readonly (Expanded | undefined)[]>;
  /**
   * Claims the heads of free lanes that are due, each with the jobs directly behind it that have the same merge key. A lane never
   * has two claims. A claim counts as an attempt. A job with two deaths is claimed only on request, and alone: in this process. Each lane
   * is of one worker's share at a time; `claim` gives those of this process's share, and its `nextDueAt` and `suspects` are of it.
   * A job that cannot be read ends in the inbox, with an error line: it keeps no other from being claimed. After a rejection nothing is
   * claimed. A claim that is given late is taken; meanwhile `claim` may be called again.
   */
  claim(limits: ClaimLimits): Promise<Claimed>;
  /**
   * Returns `false` for a claim that was lost: nothing changed. The next job of the lane can be claimed after the same write. After a
   * rejection, which may have written, each settlement comes again alone; one that is never taken while others are, as dead.
   */
  settle(settlements: readonly Settlement[]): Promise<readonly boolean[]>;
  readonly jobs: InboxJobs;
  /** Written atomically with the jobs of a lifecycle notice. */
  readonly subscriptions: Subscriptions;
  /** Where transactions of the application can settle jobs. */
  readonly transactional?: Transactional | undefined;
  /** Where it has room for texts of other modules. */
  readonly keyValues?: KeyValues | undefined;
  /** Where it has room for what may be missing. */
  readonly gaps?: Gaps | undefined;
  /** Where pauses are stored. With it the inbox follows the `rules` of claims; without it nobody can pause, and each job counts for itself. */
  readonly pauses?: Pauses | undefined;
  /** Where many work: all that do now. */
  readonly liveWorkers?: (() => Promise<readonly LiveWorker[]>) | undefined;
  /**
   * Cheap: every health check calls it. Where many work, `waiting`, `running` and `blockedLanes` are of this process's share, and exact,
   * while it works and all of its share is in memory; all else is of the whole, from a query at most 5 s old.
   */
  stats(): InboxStats;
  readonly capabilities: Capabilities;
}

/** Callbacks to the process that works. All but `begin` and `end` may be missed: the worker also polls. */
export interface Worker {
  /**
   * What this process handles, where many work: jobs of these, and their expansion, are left to it by workers that have no handler.
   * Undefined: nothing is.
   */
  readonly handled?: readonly HandledType[] | undefined;
  /**
   * This process may claim from now on, all lanes or those of its share, which may change. @returns false: it is closing; give everything
   * back and do not try again
   */
  begin(): boolean | void;
  /**
   * Others took over all that was this process's. It may not claim any more, until `begin` is called again.
   * @param cause where it is to begin again by itself: until then it stands still. May be called again for each try that
   * fails, and without a cause once another process works
   */
  end(cause?: StorageError): void;
  /** There may be something to expand or to claim. */
  wake(): void;
  /**
   * These claims ended without being settled: abort their handlers; their outcome is ignored. Not called for lanes that leave this process's
   * share: their claims end first. After all its claims were lost to others, `begin` may be called again.
   */
  lost(claims: readonly Claim[]): void;
  /**
   * Where many work: unhandled jobs are now this process's to look at, those that `jobs.unhandled` gives it, once; or workers came and went
   * since it last did. Where one works, it does so at `begin`.
   */
  reopen?(): void;
}

/** Guarantees that differ between inboxes. */
export interface Capabilities {
  /** `none`: gone with the process. `fsync`: survives a power cut. `quorum`: survives the loss of a machine. */
  readonly durability: "none" | "fsync" | "quorum";
  /** `strict`: two jobs of a lane never run at once. `valid-claims`: two claims are never valid at once, but a stalled process may overlap. */
  readonly order: "strict" | "valid-claims";
  /** Whether several processes can receive into it. */
  readonly shared: boolean;
  /** `one` process works at a time, and others stand by; or `many`, each on its share of the lanes. */
  readonly workers: "one" | "many";
}

/** Whether a delivery could be stored now. */
export type Readiness =
  | { readonly ready: true }
  | {
      readonly ready: false;
      readonly error: StorageError;
      /** This process cannot recover: only another one can help. @default false */
      readonly hopeless?: boolean;
    };

/** Counts of jobs, and of unexpanded deliveries. */
export interface InboxStats {
  readonly unexpanded: number;
  readonly waiting: number;
  readonly running: number;
  readonly dead: number;
  readonly unhandled: number;
  /** Dead jobs that were removed because of their age, where the inbox counts them. */
  readonly expired?: number | undefined;
  /** Lanes whose head waits for its retry. */
  readonly blockedLanes: number;
  /** Of `waiting`, those that a pause holds. Where there are many, this and `oldestWaitingAt` may be of up to some seconds ago. */
  readonly pausedWaiting?: number | undefined;
  /** When the oldest delivery was received that is unexpanded or has a waiting job which no pause holds. */
  readonly oldestWaitingAt: number | undefined;
  /** Deliveries wait unexpanded, or jobs in the storage, because other jobs fill the memory of this process. @default false */
  readonly isFull?: boolean | undefined;
  /** So much of the memory for jobs is taken, from 0 to about 1; undefined where it has no limit. */
  readonly fill?: number | undefined;
  /** Whether any process works on it; undefined where that is unknown. */
  readonly isWorkedOn?: boolean | undefined;
  /** Where many work. */
  readonly workers?: InboxWorkers;
  /** What another process should do and does not, and what this one cannot take over from it. */
  readonly standstill?:
    | { readonly step: "claim"; readonly of: string; readonly seconds: number; readonly cause: unknown }
    | undefined;
  /** Why some of the whole could not be read at the last look: its numbers are those of an earlier one, or 0. */
  readonly failure?: unknown;
  /** For an inbox on a disk. */
  readonly disk?: InboxDisk;
}

/** Who works on an inbox on which many may. */
export interface InboxWorkers {
  /** Processes that work. */
  readonly alive: number;
  /** Of all lanes, those that are this process's: from 0 to 1. */
  readonly share: number;
  /** The parts of the lanes that are this process's, where whole parts are shared out. */
  readonly shards?: number | undefined;
}

/** A process that works on an inbox on which many may. */
export interface LiveWorker {
  /** Unique among those that ever worked. */
  readonly id: string;
  /** It is this process. */
  readonly isThis: boolean;
  /** Of all lanes, those that are its share: from 0 to 1. */
  readonly share: number;
  /** Jobs whose handlers run now, as it last told. */
  readonly running: number;
}

/** State of an inbox's disk and file. */
export interface InboxDisk {
  /** Undefined where it is unknown. */
  readonly freeBytes: number | undefined;
  /** How often the file was reopened after a failure, and when last; undefined if never. */
  readonly reopened: { readonly count: number; readonly lastAt: number } | undefined;
  /** The file system gives its files no stable inode numbers: a deleted or replaced file cannot be detected. @default false */
  readonly hasUnstableInodes?: boolean;
  /** Hard links of its file, itself included: processes that open it by different ones do not see each other. */
  readonly hardLinks?: number | undefined;
  /** How often another process took over while this one worked, and when last; undefined if never. */
  readonly takenOver?: { readonly count: number; readonly lastAt: number } | undefined;
}

/**
 * An inbox by its writing half.
 * @throws UsageError `inbox-invalid` when it has none
 */
export function asWriting<K extends StorageKind>(inbox: Inbox<K>): WritingInbox<K> {
  const given = inbox as Partial<WritingInbox<K>> | undefined;
  if (typeof given?.store === "function" && typeof given.open === "function") return given as WritingInbox<K>;
  throw new UsageError(
    "inbox-invalid",
    `createReceiver got ${given === undefined ? "no inbox" : `${kindOf(given)} as its inbox`}.`,
    {
      fix: 'Pass an inbox, such as `sqliteInbox("inbox.db")` or `memoryInbox()`.',
    },
  );
}

/** The working half, where the inbox has one. */
export function asWorking<K extends StorageKind>(inbox: WritingInbox<K>): WorkingInbox<K> | undefined {
  return "work" in inbox ? (inbox as WorkingInbox<K>) : undefined;
}
