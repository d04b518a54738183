import type { JobOutcome } from "./port/claims.ts";
import type { LaneRow } from "./lane-queues.ts";

/** What a job that died of its window left to those that waited behind it in its lane. */
export interface LaneWindow {
  /** Wall-clock time of its first attempt. */
  readonly since: number;
  /** Id of the last of them: what comes later has a window of its own. */
  readonly upTo: number;
}

/** When the window began by which a claimed job is judged: at its own first attempt, or at the one that it has inherited. */
export function windowStart({ id, progress, place }: LaneRow): number {
  const { firstAttemptAt = 0 } = progress;
  const window = place?.window;
  return window !== undefined && id <= window.upTo ? Math.min(firstAttemptAt, window.since) : firstAttemptAt;
}

/** What the outcomes of a run, whose rows are not changed yet, make of its lane's window. Undefined: nobody inherits anything. */
export function windowAfter(run: readonly LaneRow[], outcomes: readonly JobOutcome[]): LaneWindow | undefined {
  const [first] = run;
  const lane = first?.place;
  if (lane?.key === undefined) return undefined;
  let { window } = lane;
  let head: LaneRow | undefined;
  for (const [index, row] of run.entries()) {
    const outcome = outcomes[index] ?? { to: "release" };
    if (outcome.to === "done") window = undefined;
    if (outcome.to === "dead" && outcome.ofWindow === true) window = handedOn(row, window);
    if (outcome.to === "retry" || outcome.to === "release") head ??= row;
  }
  head ??= run.at(-1)?.next;
  while (head !== undefined && head.place === undefined) head = head.next; // removed in the meantime
  return window !== undefined && head !== undefined && head.id <= window.upTo ? window : undefined;
}

/** Who had inherited leaves it at that: else one window would go on to whatever comes, for ever. */
function handedOn({ id, progress, place }: LaneRow, window: LaneWindow | undefined): LaneWindow {
  const { firstAttemptAt: since = 0 } = progress;
  if (window !== undefined && id <= window.upTo && window.since < since) return window;
  return { since, upTo: place?.tail?.id ?? id };
}
