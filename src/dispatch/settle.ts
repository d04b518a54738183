import { isHooklineError } from "../errors.ts";
import { backoffMs } from "../inbox/backoff.ts";
import type { ClaimedJob, JobError, JobOutcome } from "../inbox/claims.ts";
import type { RunLimits } from "./handler.ts";
import type { RetryLater } from "./verdicts.ts";

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
  return error.delayMs(outcome.at - outcome.delayMs) > outcome.delayMs;
}

/** What a handler asks for, whatever else happens: `GiveUp` and `RetryLater`. */
export function isVerdict(error: unknown): boolean {
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

/** An error's message may be a page of somebody's answer: this much is kept. */
const MAX_CHARACTERS = 2_000;

/** What is kept of whatever was thrown. An error's own fields may be anything too: some libraries put objects there. */
export function toJobError(error: unknown, now: number): JobError {
  if (error instanceof Error) return { name: textOf(error.name), message: textOf(error.message), at: now };
  return { name: "Error", message: textOf(`${typeof error} was thrown: ${textOf(error)}`), at: now };
}

function textOf(value: unknown): string {
  try {
    return String(value).slice(0, MAX_CHARACTERS);
  } catch {
    return "it cannot be shown";
  }
}

function isRetryLater(error: unknown): error is RetryLater {
  return isHooklineError(error, "retry-later") && "delayMs" in error; // of another copy of the package perhaps
}

/** A time that is not ahead says nothing but *later*. */
function askedMs(error: RetryLater, { now, random }: SettleRules): number {
  const delayMs = error.delayMs(now);
  return delayMs > 0 ? Math.min(delayMs, LATEST_AT - now) : backoffMs(1, random);
}
