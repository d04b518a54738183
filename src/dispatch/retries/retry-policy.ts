import type { ClaimedJob, JobError, JobOutcome } from "../../inbox/port/claims.ts";
import { catchRejection, describeThrown } from "../../thrown.ts";
import type { RunLimits } from "../handlers.ts";
import { retryErrorOf, type GiveUp, type RetryLater } from "./retry-errors.ts";

/** How a call ended. */
export type CallResult = { readonly ok: true } | { readonly ok: false; readonly error: unknown };

/** Only time ends the retries. */
export const DEFAULT_ATTEMPTS: number = Infinity;
/** How long after its first attempt a job is retried, milliseconds: a day. */
export const DEFAULT_RETRY_FOR_MS = 24 * 60 * 60 * 1_000;

/** What decides on a failed call. */
export interface SettleRules extends Pick<RunLimits, "attempts" | "retryForMs"> {
  /** Wall-clock time, milliseconds since the epoch. */
  readonly now: number;
  /** The same, for the windows of retries: see `retry-clock.ts`. */
  readonly retryTime: number;
  /** From 0 to below 1. */
  readonly random: number;
}

/**
 * The outcome of each job of a call, oldest first. Only this, after a failed attempt, decides whether a job's attempts or time are used
 * up. Each job has its own count; the delay is the oldest job's, but `RetryLater` is limited by each job's own window.
 */
export function outcomesOf(jobs: readonly ClaimedJob[], result: CallResult, rules: SettleRules): JobOutcome[] {
  if (result.ok) return jobs.map(() => DONE);
  const { attempts, retryForMs, now, random } = rules;
  const error = toJobError(result.error, now);
  const asked = retryErrorOf(result.error);
  if (asked?.code === "give-up") return jobs.map(() => ({ to: "dead", error }));
  const isLater = isRetryLater(asked);
  const delayMs = isLater ? laterMs(asked, rules) : backoffMs(jobs[0]?.attempt ?? 1, random);
  const leftMs = (job: ClaimedJob): number => retryForMs - triedMs(job, rules);
  // Jobs claimed with one whose window is over inherit that window: they do not wait for the end of their own.
  const isAnyOver = jobs.some((job) => leftMs(job) <= 0);
  return jobs.map((job) => {
    if (leftMs(job) <= 0) {
      // Without retries no job has waited behind it.
      return retryForMs > 0 ? { to: "dead", error, ofWindow: true } : { to: "dead", error };
    }
    if (!isLater && job.attempt >= attempts) return { to: "dead", error };
    // Whole, as times are stored; not earlier than was asked for.
    const heldMs = Math.ceil(isLater ? Math.max(Math.min(delayMs, isAnyOver ? 0 : leftMs(job)), SHORTEST_MS) : delayMs);
    return { to: "retry", at: now + heldMs, delayMs: heldMs, counted: !isLater, error };
  });
}

/** The first retry comes about this much later, each further one twice as late. */
const FIRST_DELAY_MS = 1_000;
/** No two attempts are further apart. */
const LONGEST_DELAY_MS = 600_000;

/**
 * How long to wait after the attempt of this number has failed: 1 s doubling to 10 min, with equal jitter (half of it is
 * certain, half is random, so that what failed together does not come back together).
 * @param attempt from 1
 * @param random from 0 to below 1
 * @returns milliseconds
 */
export function backoffMs(attempt: number, random: number): number {
  const full = Math.min(FIRST_DELAY_MS * 2 ** Math.min(attempt - 1, 30), LONGEST_DELAY_MS);
  return Math.round(full / 2 + (full / 2) * random);
}

/** Until when a handler asked that nothing of its account starts, milliseconds since the epoch; undefined where it asked for its job alone. */
export function accountDelay(error: unknown, now: number): number | undefined {
  const asked = retryErrorOf(error);
  if (!isRetryLater(asked) || !isOfAccount(asked)) return undefined;
  const delayMs = delayOf(asked, now);
  return delayMs > 0 ? now + Math.max(delayMs, SHORTEST_MS) : undefined;
}

/** Whether a handler asked for a time beyond the job's window, so that the job is tried at the window's end instead. */
export function isBroughtForward(error: unknown, outcome: JobOutcome): boolean {
  const asked = retryErrorOf(error);
  if (outcome.to !== "retry" || !isRetryLater(asked)) return false;
  return delayOf(asked, outcome.at - outcome.delayMs) > outcome.delayMs;
}

const DONE: JobOutcome = { to: "done" };

/** A `RetryLater` of 0 would be a busy loop. */
const SHORTEST_MS = 100;
/** The latest time of a Date. */
const LATEST_AT = 8_640_000_000_000_000;

/** Whether the job is dead if this attempt fails, as far as is known when it begins. @param now the wall clock's, and that of windows */
export function isLastAttempt(
  job: ClaimedJob,
  { attempts, retryForMs }: Pick<RunLimits, "attempts" | "retryForMs">,
  { now, retryTime }: { readonly now: number; readonly retryTime: () => number },
): boolean {
  if (job.attempt >= attempts) return true;
  // Nearly all jobs end here: the other time is never later.
  const isOver = (time: number): boolean => triedMs(job, { now, retryTime: time }) >= retryForMs;
  return isOver(now) && isOver(retryTime());
}

/** A first attempt later than the time of windows by more, milliseconds, came after the leap that this time still catches up with. */
const AFTER_LEAP_MS = 60_000;
/** A job may inherit a first attempt from before its delivery, of a lane that waits: none waits for a year, milliseconds. */
const BEHIND_MS = 365 * 24 * 60 * 60 * 1_000;

/**
 * How long a job has been tried. A first attempt that is yet to come was noted while the wall clock was ahead. One that came after a leap is
 * measured by the wall clock: a clock set right at boot leaps by decades, and the time of windows needs months for that. One that was long
 * before the service sent the delivery was noted while the wall clock was behind.
 */
function triedMs(
  { firstAttemptAt, delivery: { sentAt } }: ClaimedJob,
  { now, retryTime }: Pick<SettleRules, "now" | "retryTime">,
): number {
  const wasBehind = sentAt - firstAttemptAt > BEHIND_MS && sentAt <= now;
  const since = wasBehind ? sentAt : firstAttemptAt;
  const time = since - retryTime > AFTER_LEAP_MS ? now : retryTime;
  return Math.max(time - since, 0);
}

/** The stored form of whatever was thrown. */
export function toJobError(error: unknown, now: number): JobError {
  return { ...describeThrown(error), at: now };
}

function isRetryLater(asked: GiveUp | RetryLater | undefined): asked is RetryLater {
  return asked?.code === "retry-later";
}

/** It may be of another copy of the package, or of the user's own class. */
function isOfAccount(error: RetryLater): boolean {
  try {
    return error.scope === "account";
  } catch (unreadable) {
    catchRejection(unreadable);
    return false;
  }
}

/** NaN where it has no time. */
function delayOf(error: RetryLater, now: number): number {
  try {
    const given: unknown = error.delayMs(now);
    catchRejection(given); // a user's own may be async
    return Number(given);
  } catch (unreadable) {
    catchRejection(unreadable);
    return Number.NaN;
  }
}

/** A time that is not in the future waits like a first failure. */
function laterMs(error: RetryLater, { now, random }: SettleRules): number {
  const delayMs = delayOf(error, now);
  return delayMs > 0 ? Math.min(delayMs, LATEST_AT - now) : backoffMs(1, random);
}
