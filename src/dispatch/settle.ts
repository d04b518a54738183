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
 * has just failed, and nowhere else. Each has its own count; the delay is the oldest's.
 */
export function outcomesOf(jobs: readonly ClaimedJob[], result: CallResult, rules: SettleRules): JobOutcome[] {
  if (result.ok) return jobs.map(() => DONE);
  const { attempts, retryForMs, now, random } = rules;
  const error = toJobError(result.error, now);
  if (isHooklineError(result.error, "give-up")) return jobs.map(() => ({ to: "dead", error }));
  const asked = isRetryLater(result.error);
  const delayMs = asked ? result.error.delayMs(now) : backoffMs(jobs[0]?.attempt ?? 1, random);
  return jobs.map((job) => {
    const spent = now - job.firstAttemptAt >= retryForMs || (!asked && job.attempt >= attempts);
    return spent ? { to: "dead", error } : { to: "retry", at: now + delayMs, delayMs, counted: !asked, error };
  });
}

/** What a handler asks for, whatever else happens: `GiveUp` and `RetryLater`. */
export function isVerdict(error: unknown): boolean {
  return isHooklineError(error, "give-up") || isRetryLater(error);
}

const DONE: JobOutcome = { to: "done" };

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
