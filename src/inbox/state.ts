import type { JobState } from "./job.ts";
import type { JobError, JobOutcome } from "./claims.ts";

/** How far a job has come. Never changed in place: the fresh ones of an inbox share one. */
export interface Progress {
  readonly state: JobState;
  /** Begun and counted. */
  readonly attempts: number;
  /** Processes that died over it since it last ended. */
  readonly deaths: number;
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
  firstAttemptAt: undefined,
  runAt: 0,
  delayMs: 0,
  error: undefined,
  settledAt: undefined,
};

/** At this many deaths a job runs alone. */
export const SUSPECT_DEATHS = 2;
/** At this many it is not run again: only a job that was alone comes so far. */
export const MOST_DEATHS = 3;

/**
 * Whether a waiting job may run. A retry that is further away than its own delay was written before the wall clock
 * jumped back: it is due, or a clock set right would freeze it.
 */
export function isDue(progress: Progress, now: number): boolean {
  return progress.runAt <= now || progress.runAt - now > progress.delayMs;
}

/** A claim: the attempt counts from here, unless it is claimed to be buried. */
export function claimed(progress: Progress, now: number): Progress {
  return {
    ...progress,
    state: "running",
    attempts: progress.deaths < MOST_DEATHS ? progress.attempts + 1 : progress.attempts,
    firstAttemptAt: progress.firstAttemptAt ?? now,
  };
}

/** What a settlement makes of a running job. A run that ended, well or badly, clears its deaths. */
export function settled(progress: Progress, outcome: JobOutcome, now: number): Progress {
  switch (outcome.to) {
    case "done":
      return { ...progress, state: "done", deaths: 0, settledAt: now };
    case "dead":
      return { ...progress, state: "dead", deaths: 0, error: outcome.error, settledAt: now };
    case "unhandled":
      return { ...uncounted(progress), state: "unhandled", settledAt: now };
    case "release":
      return { ...uncounted(progress), state: "waiting", runAt: 0, delayMs: 0 };
    case "retry":
      return {
        ...progress,
        attempts: outcome.counted ? progress.attempts : attemptsBefore(progress),
        state: "waiting",
        deaths: 0,
        runAt: outcome.at,
        delayMs: outcome.delayMs,
        error: outcome.error,
      };
  }
}

/** The process that ran it is gone: that was one attempt and one death. */
export function orphaned(progress: Progress): Progress {
  return { ...progress, state: "waiting", deaths: progress.deaths + 1, runAt: 0, delayMs: 0 };
}

/** Attempts before the claim: one that was claimed to be buried counted none. */
function attemptsBefore({ attempts, deaths }: Progress): number {
  return deaths < MOST_DEATHS ? attempts - 1 : attempts;
}

/** Takes back the attempt of a claim that came to nothing; the first one never happened then. */
function uncounted(progress: Progress): Progress {
  const attempts = attemptsBefore(progress);
  return {
    ...progress,
    attempts,
    firstAttemptAt: attempts === 0 && progress.error === undefined ? undefined : progress.firstAttemptAt,
  };
}
