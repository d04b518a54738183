import type { LaneWindow, Progress } from "../../../../src/adapter.ts";
import type { Row } from "./lanes.ts";

/** What is to become of some jobs of a claim. */
export interface Ending {
  readonly run: readonly Row[];
  /** Of each row. */
  readonly progress: readonly Progress[];
  /** Of the lane: null where it ends, undefined where it stays as it is. */
  readonly window: LaneWindow | null | undefined;
}

/** How claims end, as the server's `work` takes it: rows that are done, and the rest as JSON. */
export function toSettle(settles: readonly Ending[], leaves: ReadonlyMap<number, number | undefined>) {
  const leave = [...leaves].flatMap(([shard, heir]) => (heir === undefined ? [shard] : []));
  const pass = [...leaves].filter(([, heir]) => heir !== undefined);
  const done: Row[] = [];
  const others: unknown[] = [];
  const windows: unknown[] = [];
  for (const { run, progress, window } of settles) {
    const lane = run[0]?.lane;
    if (window !== undefined && lane !== undefined)
      windows.push({ s: run[0]?.shard, l: lane, f: window?.since ?? null, u: window?.upTo ?? null });
    for (const [place, row] of run.entries()) {
      const after = progress[place];
      if (after === undefined || after.state === "done") done.push(row);
      else others.push(toOther(row, after));
    }
  }
  return {
    done,
    ...(others.length > 0 ? { others } : {}),
    ...(windows.length > 0 ? { windows } : {}),
    ...(leave.length > 0 ? { leave } : {}),
    ...(pass.length > 0 ? { pass } : {}),
  };
}

/** Whole numbers. The driver takes five times as long for an array of them. */
export function toArray(numbers: readonly (number | undefined)[]): string {
  return `{${numbers.map((number) => (Number.isFinite(number) ? Math.floor(number as number) : "NULL")).join(",")}}`;
}

function toOther({ shard: s, id: i }: Row, progress: Progress) {
  const {
    state: w,
    attempts: a,
    deaths: d,
    groupMax: g = null,
    firstAttemptAt: f = null,
    runAt: r,
    delayMs: y,
  } = progress;
  const e = progress.error ?? null;
  return { s, i, w, a, d, g, f, r, y, e, z: progress.settledAt ?? null };
}
