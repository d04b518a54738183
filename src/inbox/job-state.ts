import type { JobState } from "./port/jobs.ts";
import type { JobError, JobOutcome } from "./port/claims.ts";

/** How far a job has come. Never changed in place: the fresh ones of an inbox share one. */
export interface Progress {
  readonly state: JobState;
  /** Begun and counted. */
  readonly attempts: number;
  /** Processes that died over it since it last ended; from the second on only those that it was alone with. */
  readonly deaths: number;
  /** Of a suspect: no more than so many run together with it, itself included, since a group of them died; undefined: any number. */
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

/** At this many deaths a job is a suspect: it runs unmerged, with nothing but suspects beside it. */
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
    attempts: attemptsOnceClaimed(progress),
    firstAttemptAt: progress.firstAttemptAt ?? now,
  };
}

/** Attempts of a job once it is claimed: one more, unless it is claimed only to be dead-lettered. */
export function attemptsOnceClaimed({ attempts, deaths }: Pick<Progress, "attempts" | "deaths">): number {
  return deaths < MOST_DEATHS ? attempts + 1 : attempts;
}

/** What a settlement makes of a running job. A run that ended, well or badly, clears it of suspicion. */
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

/**
 * The process that ran them is gone: that was one attempt for each, and one death. Of suspects only one that was alone died of it: several
 * were a group, which is halved until one is.
 * @param all that it ran
 */
export function orphaned(all: readonly Progress[]): Progress[] {
  const group = all.filter(isSuspect).length;
  const half = Math.ceil(group / 2);
  return all.map((progress) => ({
    ...progress,
    state: "waiting",
    deaths: isSuspect(progress) && group > 1 ? progress.deaths : progress.deaths + 1,
    groupMax: isSuspect(progress) ? Math.min(progress.groupMax ?? half, half) : undefined,
    runAt: 0,
    delayMs: 0,
  }));
}

/** So many processes died over it that the next time it runs with nothing but its like. */
export function isSuspect({ deaths }: Progress): boolean {
  return deaths >= SUSPECT_DEATHS;
}

const NO_DEATHS = { deaths: 0, groupMax: undefined };

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
