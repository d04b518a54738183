import type { Progress } from "./job-state.ts";

/** With this many deaths a job is a suspect: it runs unmerged, beside suspects only. */
export const SUSPECT_DEATHS = 2;
/** With this many deaths a job is dead-lettered: only a job that ran alone gets there. */
export const MOST_DEATHS = 3;

/** Of a job whose last run ended. */
export const NO_DEATHS = { deaths: 0, groupMax: undefined };

/**
 * Jobs of a process that died: each counts one death, and its attempt stays counted. A suspect counts a death only if no other suspect ran:
 * a group is halved instead, until one is alone.
 * @param all jobs that the process ran
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

/** Whether the job must run beside suspects only. */
export function isSuspect({ deaths }: Progress): boolean {
  return deaths >= SUSPECT_DEATHS;
}
