import type { Progress } from "../../../../src/adapter.ts";
import type { Row } from "./lanes.ts";
import type { Settling } from "./refused-settles.ts";

/** How claims end, as the server's `work` takes it: rows that are done, and the rest as JSON. */
export function toSettle(settles: readonly Settling[], leaves: ReadonlyMap<number, number | undefined>) {
  const leave = [...leaves].flatMap(([shard, heir]) => (heir === undefined ? [shard] : []));
  const pass = [...leaves].filter(([, heir]) => heir !== undefined);
  const done: Row[] = [];
  const others: unknown[] = [];
  const windows: unknown[] = [];
  for (const { left, progress, window } of settles) {
    const lane = left[0]?.lane;
    if (window !== undefined && lane !== undefined)
      windows.push({ s: left[0]?.shard, l: lane, f: window?.since ?? null, u: window?.upTo ?? null });
    for (const row of left) {
      const after = progress.get(row);
      if (after === undefined) done.push(row);
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
