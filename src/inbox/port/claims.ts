import type { SingleEvent } from "../../protocol/events.ts";
import type { Delivery } from "./delivery.ts";

/** How much to claim. */
export interface ClaimLimits {
  readonly max: number;
  /** Jobs in a run. */
  readonly mergeMax: number;
  /**
   * How many of the runs begin at once, the first ones; undefined: all. A job over which the process died once comes among those, or waits with
   * all that came up after it: so few become suspects if the process dies again.
   */
  readonly slots?: number | undefined;
  /**
   * Only jobs over which the process died twice, as many as may run together; else none of them. When a process dies over several of them,
   * none counts a death, and half as many may run together with each.
   */
  readonly suspects?: boolean | undefined;
  /**
   * How many runs more would be claimed, at any time until the next claim, beside those of this one. What is stored until then will be claimed
   * at once, as far as this leaves room: an inbox may mark it as claimed in the commit that keeps it. If the process dies before it claims,
   * that counts as a death, and no more than one.
   */
  readonly ahead?: (() => number) | undefined;
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
  /**
   * Wall-clock time of the first attempt: this one's, or an earlier one's. Where it has inherited an earlier time, that: see
   * {@link JobOutcome}.
   */
  readonly firstAttemptAt: number;
  /**
   * How often the process died while it was claimed, since it last ended: each counted one attempt, too. From the second on only a death with
   * no other of its like is counted. From the third on a claim counts none, because it will not be run.
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
  | {
      readonly to: "dead";
      readonly error: JobError;
      /**
       * The time in which it is tried again was over. What waits in its lane at that moment, or was claimed with it, inherits the time of its
       * first attempt, unless it had inherited one itself. What comes later does not. It ends when a job of the lane is done.
       */
      readonly ofWindow?: true | undefined;
    }
  /** As if it had not been claimed. */
  | { readonly to: "release" }
  /** Its handler is gone: it waits for one, holding no lane. */
  | { readonly to: "unhandled" };

/** What is stored of whatever a handler threw; `at` in milliseconds since the epoch. */
export interface JobError {
  readonly name: string;
  readonly message: string;
  readonly at: number;
}
