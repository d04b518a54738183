import type { LaneRow } from "./lane-queues.ts";
import type { JobOutcome } from "./port/claims.ts";

/** The retry window that a job, dead because the window was over, left to the jobs behind it in its lane. */
export interface LaneWindow {
  /** Wall-clock time of its first attempt. */
  readonly since: number;
  /** Id of the last of those jobs: later jobs have windows of their own. */
  readonly upTo: number;
}

/** Start of a claimed job's retry window: its own first attempt, or the inherited one. */
export function windowStart({ id, progress, queuedIn }: LaneRow): number {
  const { firstAttemptAt = 0 } = progress;
  const window = queuedIn?.window;
  return window !== undefined && id <= window.upTo ? Math.min(firstAttemptAt, window.since) : firstAttemptAt;
}

/**
 * The lane's window after the outcomes of a run whose rows are not changed yet. Undefined: no job inherits anything.
 * @param rest ids of the first and the last of its jobs that are in the storage alone, behind those in memory
 */
export function windowAfter(
  run: readonly LaneRow[],
  outcomes: readonly JobOutcome[],
  rest?: () => readonly [first: number, last: number] | undefined,
): LaneWindow | undefined {
  const [first] = run;
  const lane = first?.queuedIn;
  if (lane?.key === undefined) return undefined;
  let { window } = lane;
  let head: LaneRow | undefined;
  for (const [index, row] of run.entries()) {
    const outcome = outcomes[index] ?? { to: "release" };
    if (outcome.to === "done") window = undefined;
    if (outcome.to === "dead" && outcome.ofWindow === true) window = inheritedBy(row, window, rest?.()?.[1]);
    if (outcome.to === "retry" || outcome.to === "release") head ??= row;
  }
  head ??= run.at(-1)?.next;
  while (head !== undefined && head.queuedIn === undefined) head = head.next; // removed in the meantime
  if (window === undefined) return undefined;
  const next = head?.id ?? rest?.()?.[0];
  return next !== undefined && next <= window.upTo ? window : undefined;
}

/** An inherited window is not extended to later jobs: else it would never end. */
function inheritedBy(
  { id, progress, queuedIn }: LaneRow,
  window: LaneWindow | undefined,
  last: number | undefined,
): LaneWindow {
  const { firstAttemptAt: since = 0 } = progress;
  if (window !== undefined && id <= window.upTo && window.since < since) return window;
  return { since, upTo: last ?? queuedIn?.tail?.id ?? id };
}
