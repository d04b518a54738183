import { isHooklineError } from "../errors.ts";
import { backoffMs } from "../inbox/backoff.ts";
import type { ClaimedJob, JobError, JobOutcome } from "../inbox/port/claims.ts";
import type { RunLimits } from "./handlers.ts";
import { describeThrown } from "../thrown.ts";
import type { RetryLater } from "./retry-errors.ts";

/** How a call ended. */
export type CallResult = { readonly ok: true } | { readonly ok: false; readonly error: unknown };

/** By what a failed call is judged. */
export interface SettleRules extends Pick<RunLimits, "attempts" | "retryForMs"> {
  /** Wall-clock time, milliseconds since the epoch. */
  readonly now: number;
  /** From 0 to below 1. */
  readonly random: number;
}

/**
 * What becomes of each job of a call, oldest first. Whether a job's attempts or time are used up is decided here, when an attempt
 * has just failed, and nowhere else. Each has its own count; the delay is the oldest's, but `RetryLater` is held to each one's end.
 */
export function outcomesOf(jobs: readonly ClaimedJob[], result: CallResult, rules: SettleRules): JobOutcome[] {
  if (result.ok) return jobs.map(() => DONE);
  const { attempts, retryForMs, now, random } = rules;
  const error = toJobError(result.error, now);
  if (isHooklineError(result.error, "give-up")) return jobs.map(() => ({ to: "dead", error }));
  const asked = isRetryLater(result.error);
  const delayMs = asked ? askedMs(result.error, rules) : backoffMs(jobs[0]?.attempt ?? 1, random);
  const leftMs = (job: ClaimedJob): number => job.firstAttemptAt + retryForMs - now;
  // What was claimed with a job whose window is over inherits it: no end of its own is worth waiting for.
  const isAnyOver = jobs.some((job) => leftMs(job) <= 0);
  return jobs.map((job) => {
    if (leftMs(job) <= 0) {
      // Where nothing is tried again nobody has waited for it.
      return retryForMs > 0 ? { to: "dead", error, ofWindow: true } : { to: "dead", error };
    }
    if (!asked && job.attempt >= attempts) return { to: "dead", error };
    const heldMs = asked ? Math.max(Math.min(delayMs, isAnyOver ? 0 : leftMs(job)), SHORTEST_MS) : delayMs;
    return { to: "retry", at: now + heldMs, delayMs: heldMs, counted: !asked, error };
  });
}

/** Whether a handler asked for a time beyond the job's window, and the job is tried at its end instead. */
export function isBroughtForward(error: unknown, outcome: JobOutcome): boolean {
  if (outcome.to !== "retry" || !isRetryLater(error)) return false;
  return delayOf(error, outcome.at - outcome.delayMs) > outcome.delayMs;
}

/** What a handler asks for, whatever else happens: `GiveUp` and `RetryLater`. */
export function isRetryError(error: unknown): boolean {
  return isHooklineError(error, "give-up") || isRetryLater(error);
}

const DONE: JobOutcome = { to: "done" };

/** No `RetryLater` is sooner, or it would be a loop. */
const SHORTEST_MS = 100;
/** The last time that a Date can say. */
const LATEST_AT = 8_640_000_000_000_000;

/** Whether a failure of this attempt is the last one, as far as can be told when it begins. */
export function isLastAttempt(
  job: ClaimedJob,
  { attempts, retryForMs }: Pick<RunLimits, "attempts" | "retryForMs">,
  now: number,
): boolean {
  return job.attempt >= attempts || now - job.firstAttemptAt >= retryForMs;
}

/** What is stored of whatever was thrown. */
export function toJobError(error: unknown, now: number): JobError {
  return { ...describeThrown(error), at: now };
}

function isRetryLater(error: unknown): error is RetryLater {
  try {
    return isHooklineError(error, "retry-later") && "delayMs" in error; // of another copy of the package perhaps
  } catch {
    return false;
  }
}

/** NaN where it says no time: it may be of another copy of the package, or of a class of the user's own. */
function delayOf(error: RetryLater, now: number): number {
  try {
    return Number(error.delayMs(now));
  } catch {
    return Number.NaN;
  }
}

/** A time that is not ahead says nothing but *later*. */
function askedMs(error: RetryLater, { now, random }: SettleRules): number {
  const delayMs = delayOf(error, now);
  return delayMs > 0 ? Math.min(delayMs, LATEST_AT - now) : backoffMs(1, random);
}
