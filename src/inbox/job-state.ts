import { MOST_DEATHS, NO_DEATHS } from "./job-deaths.ts";
import type { JobError, JobOutcome } from "./port/claims.ts";
import type { JobState } from "./port/jobs.ts";

/** The progress of a job. Never changed in place: all fresh jobs share one object. */
export interface Progress {
  readonly state: JobState;
  /** Attempts that started and count. */
  readonly attempts: number;
  /** Processes that died while it ran, since it last ended; from two on only those without another suspect. */
  readonly deaths: number;
  /** For a suspect: at most so many suspects run together, itself included, after a process died over a group; undefined: any number. */
  readonly groupMax: number | undefined;
  readonly firstAttemptAt: number | undefined;
  /** Wall-clock time at which it is due, with the delay that led there. */
  readonly runAt: number;
  readonly delayMs: number;
  readonly error: JobError | undefined;
  readonly settledAt: number | undefined;
}

/** A job that was never tried: due at once. */
export const FRESH: Progress = {
  state: "waiting",
  attempts: 0,
  deaths: 0,
  groupMax: undefined,
  firstAttemptAt: undefined,
  runAt: 0,
  delayMs: 0,
  error: undefined,
  settledAt: undefined,
};

/**
 * Whether a waiting job may run. A retry that is further away than its own delay was written before the wall clock
 * jumped back: it is due, or a clock set right would freeze it.
 */
export function isDue(progress: Progress, now: number): boolean {
  return progress.runAt <= now || progress.runAt - now > progress.delayMs;
}

/**
 * A job that is claimed: the claim counts as an attempt. A first attempt that is later than now was noted while the wall clock was ahead:
 * it is as if it were this one, or the job would be retried until that time, and then for all of its window.
 */
export function claimed(progress: Progress, now: number): Progress {
  return {
    ...progress,
    state: "running",
    attempts: attemptsOnceClaimed(progress),
    firstAttemptAt: Math.min(progress.firstAttemptAt ?? now, now),
  };
}

/** Attempts of a job once it is claimed: one more, unless it is claimed only to be dead-lettered. */
export function attemptsOnceClaimed({ attempts, deaths }: Pick<Progress, "attempts" | "deaths">): number {
  return deaths < MOST_DEATHS ? attempts + 1 : attempts;
}

/** A running job after its settlement. A run that ended, well or badly, resets the deaths. */
export function settled(progress: Progress, outcome: JobOutcome, now: number): Progress {
  switch (outcome.to) {
    case "done":
      return { ...progress, ...NO_DEATHS, state: "done", settledAt: now };
    case "dead":
      return { ...progress, ...NO_DEATHS, state: "dead", error: outcome.error, settledAt: now };
    case "unhandled":
      return { ...uncounted(progress), state: "unhandled", settledAt: now };
    case "release":
      return { ...uncounted(progress), state: "waiting", runAt: 0, delayMs: 0 };
    case "retry":
      return {
        ...progress,
        attempts: outcome.counted ? progress.attempts : attemptsBefore(progress),
        ...NO_DEATHS,
        state: "waiting",
        runAt: outcome.at,
        delayMs: outcome.delayMs,
        error: outcome.error,
      };
  }
}

/** Attempts before the claim: the reverse of {@link attemptsOnceClaimed}. */
function attemptsBefore({ attempts, deaths }: Progress): number {
  return deaths < MOST_DEATHS ? attempts - 1 : attempts;
}

/** Takes back the attempt of a claim that never ran; without an earlier attempt there is no first one either. */
function uncounted(progress: Progress): Progress {
  const attempts = attemptsBefore(progress);
  return {
    ...progress,
    attempts,
    firstAttemptAt: attempts === 0 && progress.error === undefined ? undefined : progress.firstAttemptAt,
  };
}
