import type { SingleEvent } from "../../protocol/event-types.ts";
import type { Delivery } from "./delivery.ts";

/** What a claim may take. */
export interface ClaimLimits {
  readonly max: number;
  /** Jobs in a run: in one claim. */
  readonly mergeMax: number;
  /**
   * How many of the runs start at once, the first ones; undefined: all. A job with one death is claimed only among those; else it and all
   * jobs that became due after it wait. So few jobs become suspects if the process dies again.
   */
  readonly slots?: number | undefined;
  /**
   * Claims only suspects (jobs with two deaths), as many as may run together; otherwise none of them. When the process dies while
   * several suspects run, none of them counts a death, and half as many may run together next time. A suspect is alone in its process,
   * not beside other processes.
   */
  readonly suspects?: boolean | undefined;
  /**
   * How many runs the caller could claim beyond this claim, at any time until its next claim. It will claim that many new jobs as soon as
   * they are stored: an inbox may mark them as claimed in the commit that stores them. If the process dies before it claims them, each
   * counts at most one death.
   */
  readonly ahead?: (() => number) | undefined;
  /** Undefined: as before, or without turns and with nothing held. */
  readonly rules?: ClaimRules | undefined;
}

/**
 * Who may start now, and in what order. An inbox that has `pauses` follows them. They change between two claims; what was claimed before is
 * the caller's to give back.
 */
export interface ClaimRules {
  /**
   * `account`: where more lanes are ready than may be claimed, accounts take turns, by the account of a lane's head; jobs without an account
   * share one turn. Within an account, and with `none`, the lane that became ready first is claimed first.
   */
  readonly fairness: "account" | "none";
  /** Most claims at once of one account and this consumer; Infinity: any number. One more for each of its handlers that is stuck. */
  perAccount(consumer: string, accountId?: number): number;
  /** Whether nothing of this account and consumer is to be claimed. */
  isHeld(consumer: string, accountId: number | undefined): boolean;
  /** Grows when something is held no more, or `perAccount` has grown. */
  readonly version: number;
  /** Whether a stored pause is why it is held: such jobs may wait for days, in the storage alone. */
  isPaused(consumer: string, accountId: number | undefined): boolean;
  /** There is a pause. */
  readonly isPausing: boolean;
  /** Grows when a pause may have ended. */
  readonly resumed: number;
}

/** The result of `claim`. */
export interface Claimed {
  readonly claims: readonly Claim[];
  /** Wall-clock time at which the next retry is due, if there is one. */
  readonly nextDueAt: number | undefined;
  /** Whether suspects are due: see {@link ClaimLimits.suspects}. */
  readonly suspects: boolean;
}

/** The right to run one job, or several that merge, oldest first. The object itself is the token. */
export interface Claim {
  readonly jobs: readonly [ClaimedJob, ...ClaimedJob[]];
}

/** A job in a claim. */
export interface ClaimedJob {
  readonly id: string;
  readonly deliveryId: string;
  readonly entry: number;
  readonly consumer: string;
  readonly lane: string | undefined;
  readonly mergeKey: string | undefined;
  /** From 1, this attempt included. */
  readonly attempt: number;
  /**
   * Wall-clock time of the first attempt, or an earlier time that the job inherited: see {@link JobOutcome}. Never later than now: `claimed`
   * sees to it.
   */
  readonly firstAttemptAt: number;
  /**
   * How often a process died while the job was claimed, since the job last ended; each death also counted one attempt. From two deaths on
   * only a death while no other suspect ran counts. From three deaths on a claim is no attempt, because the job will not run.
   */
  readonly deaths: number;
  readonly replayOf: string | undefined;
  /** The account by which the inbox holds its lane; undefined: none. Left out where the inbox does not know it: then it is that of the event. */
  readonly accountId?: number | undefined;
  readonly delivery: Delivery;
  /** Undefined where the inbox no longer has it in memory. */
  readonly event: SingleEvent | undefined;
}

/** The end of a claim: one outcome for each of its jobs, in their order. */
export interface Settlement {
  readonly claim: Claim;
  readonly outcomes: readonly JobOutcome[];
}

/** How a claim ends for one of its jobs. */
export type JobOutcome =
  | { readonly to: "done" }
  /** Due at `at`, which is `delayMs` from now. Unless `counted`, this attempt does not count. */
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
       * The job's retry window was over. Jobs that wait in its lane at that moment, or were claimed with it, inherit the time of its
       * first attempt, unless it had inherited that time itself. Later jobs do not. The inheritance ends when a job of the lane is done.
       */
      readonly ofWindow?: true | undefined;
    }
  /** As if the job had not been claimed. */
  | { readonly to: "release" }
  /**
   * No handler is registered for it any more: the job waits for one outside its lane. Where many work and a live worker has a handler for
   * it, it is as if the job had not been claimed, and its lane goes to that worker's share.
   */
  | { readonly to: "unhandled" };

/** The stored form of an error that a handler threw; `at` in milliseconds since the epoch. */
export interface JobError {
  readonly name: string;
  readonly message: string;
  readonly at: number;
}
