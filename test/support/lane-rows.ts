import { claimed, FRESH, settled, type Progress } from "../../src/inbox/job-state.ts";
import type { LaneRow } from "../../src/inbox/lane-queues.ts";
import type { JobOutcome } from "../../src/inbox/port/claims.ts";

export type TestRow = LaneRow;

let lastId = 0;

/** A waiting job with nothing but what a lane book needs. */
export function laneRow(lane: string | undefined, mergeKey?: string, died: Partial<Progress> = {}): TestRow {
  lastId += 1;
  return { id: lastId, lane, mergeKey, progress: { ...FRESH, ...died }, next: undefined, queuedIn: undefined };
}

/** What an inbox does to the rows of a run before it gives them back. */
export function settleRows(run: readonly LaneRow[], outcomes: readonly JobOutcome[], now: number): void {
  for (const [index, row] of run.entries())
    row.progress = settled(claimed(row.progress, now), outcomes[index] ?? { to: "done" }, now);
}

export function idsOf(runs: readonly (readonly TestRow[])[]): number[][] {
  return runs.map((run) => run.map(({ id }) => id));
}
