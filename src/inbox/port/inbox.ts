import type { Clock } from "../../clock.ts";
import { type StorageError, UsageError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { Claim, ClaimLimits, Claimed, Settlement } from "./claims.ts";
import type { InboxJobs } from "./jobs.ts";
import type { Expanded, Expansion, StoreResult, NewDelivery, Unexpanded } from "./delivery.ts";
import type { Subscriptions, Tombstones } from "./subscriptions.ts";

/** Where stored deliveries live, hence what they outlive. */
export type StorageKind = "memory" | "disk" | "network";

/** Where deliveries and jobs are stored. Its verbs are in `hookline/adapter`. */
export interface Inbox<out K extends StorageKind = StorageKind> {
  readonly storage: K;
}

/** What the receiver gives an inbox to work with. */
export interface InboxHost {
  /** Namespace in a shared store: what one name keeps, another never sees. */
  readonly name: string;
  readonly clock: Clock;
  /** Throttled, a line a second for each code and level: what fails in an inbox fails as often as deliveries come. */
  readonly log: Logger;
  /** How long a natural key of tracking and booking is remembered, milliseconds. */
  readonly dedupeWindowMs: number;
}

/** The writing half: all that a receiving process needs. */
export interface WritingInbox<K extends StorageKind = StorageKind> extends Inbox<K> {
  /** Called once before any other verb, and again after a failure; resolves when deliveries can be stored. */
  open(host: InboxHost): Promise<void>;
  /**
   * Resolves when all are durable, each by itself: a {@link StorageError} in a place says that this one is not certain to be stored.
   * A delivery with all its jobs and their unique keys is one atomic record. Ids grow in the order of the array. Events are
   * taken only where no older delivery is unexpanded; else the delivery is stored unexpanded.
   */
  store(deliveries: readonly NewDelivery[]): Promise<readonly (StoreResult | StorageError)[]>;
  readonly tombstones: Tombstones;
  /** Whether the next `keep` can succeed, with the cause if not. Cheap: asked at every health check. */
  ready(): Readiness;
  /** Ends what `open` began, also where that or `work` is still under way. Everything stored stays. */
  close(): Promise<void>;
  /** Handlers outlive the receiver's close: what is kept open for them is not to keep the process. */
  unref?(): void;
}

/** The working half: what a process with handlers needs beyond the writing one. */
export interface WorkingInbox<K extends StorageKind = StorageKind> extends WritingInbox<K> {
  /**
   * Asks for the worker's place; resolves when it is had (`begin` was called) or another has it and this process stands by. Where it
   * rejects, nothing of it is left: another process can have the place, and the next call asks anew.
   */
  work(worker: Worker): Promise<void>;
  /** The oldest deliveries that are not wholly expanded, in order; none while there is no room for their jobs. */
  unexpanded(max: number): Promise<readonly Unexpanded[]>;
  /** The same as `keep` for those stored before: jobs, unique keys and the cursor are one atomic record. In the order of `unexpanded`. */
  expand(expansions: readonly Expansion[]): Promise<readonly Expanded[]>;
  /**
   * The heads of free lanes that are due, each with the run behind it that has the same merge key. Never two claims on a lane.
   * The attempt counts from here. A job over which the process died twice comes only when asked for, without a run.
   */
  claim(limits: ClaimLimits): Promise<Claimed>;
  /** By token: `false` says that the claim was lost, and nothing changed. The lane's next is claimable in the same write. */
  settle(settlements: readonly Settlement[]): Promise<readonly boolean[]>;
  readonly jobs: InboxJobs;
  /** Written in the same record as the jobs of a lifecycle notice. */
  readonly subscriptions: Subscriptions;
  /** Cheap: asked at every health check. */
  stats(): InboxStats;
  readonly capabilities: Capabilities;
}

/** What an inbox tells the process that works on it. All of it is lossy but `begin` and `end`: the worker also looks by itself. */
export interface Worker {
  /** This process works from now on. @returns false: it closes, the place is to be given back and not asked for again */
  begin(): boolean | void;
  /** It does not any more: another one took over. It stands by, and `begin` may come again. */
  end(): void;
  /** There may be something to expand or to claim. */
  wake(): void;
  /** These claims ended without being settled: their handlers are to stop, their outcome will not count. */
  lost(claims: readonly Claim[]): void;
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

/** Whether a delivery could be stored now. */
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
  /** Whether any process works on it; undefined where that is not known. */
  readonly isWorkedOn?: boolean | undefined;
  /** Where it is on a disk. */
  readonly disk?: InboxDisk;
}

/** How the disk of an inbox stands. */
export interface InboxDisk {
  /** Undefined where it is not known. */
  readonly freeBytes: number | undefined;
  /** How often something failed so that the file was opened anew, and when last; undefined where it never was. */
  readonly reopened: { readonly count: number; readonly lastAt: number } | undefined;
  /** Its files have no lasting numbers: that they are deleted or replaced while they are in use is not seen. @default false */
  readonly hasUnstableInodes?: boolean;
  /** Hard links of its file, itself included: processes that open it by different ones do not know of each other. */
  readonly hardLinks?: number | undefined;
  /** How often another process took the work over while this one had it, and when last; undefined where none ever did. */
  readonly takenOver?: { readonly count: number; readonly lastAt: number } | undefined;
}

/**
 * An inbox by its writing half.
 * @throws UsageError `inbox-invalid` when it is none
 */
export function asWriting<K extends StorageKind>(inbox: Inbox<K>): WritingInbox<K> {
  const given = inbox as Partial<WritingInbox<K>> | undefined;
  if (typeof given?.store === "function" && typeof given.open === "function") return given as WritingInbox<K>;
  throw new UsageError(
    "inbox-invalid",
    `createReceiver got ${given === undefined ? "no inbox" : "an inbox without verbs"}.`,
    {
      fix: "Give it `memoryInbox()`, `forwardInbox(store)`, or one written for `hookline/adapter`.",
    },
  );
}

/** The working half, where the inbox has one. */
export function asWorking<K extends StorageKind>(inbox: WritingInbox<K>): WorkingInbox<K> | undefined {
  return "work" in inbox ? (inbox as WorkingInbox<K>) : undefined;
}
