import { isSuspect } from "../job-deaths.ts";
import type { LaneRow } from "../lane-queues.ts";

/** Most jobs that one call may settle. */
export const MERGE_MAX = 1_000;

/** The head and the jobs directly behind it that merge with it. A suspect runs alone. */
export function runFrom(head: LaneRow, mergeMax: number): LaneRow[] {
  const run = [head];
  const { mergeKey } = head;
  if (mergeKey === undefined || isSuspect(head.progress)) return run;
  let last = head;
  while (run.length < mergeMax) {
    let next = last.next;
    while (next !== undefined && next.queuedIn === undefined) next = next.next; // removed in the meantime
    if (next === undefined || next.mergeKey !== mergeKey || isSuspect(next.progress)) break;
    run.push(next);
    last = next;
  }
  return run;
}
