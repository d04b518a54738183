/** A stretch of time, in milliseconds since the epoch. Its end does not belong to it. */
export interface Interval {
  readonly startMs: number;
  readonly endMs: number;
}

/** What any of them covers, as intervals in order that neither overlap nor touch. */
export function union(intervals: Iterable<Interval>): readonly Interval[] {
  const covered: { startMs: number; endMs: number }[] = [];
  for (const { startMs, endMs } of [...intervals].toSorted((a, b) => a.startMs - b.startMs)) {
    const last = covered.at(-1);
    if (startMs >= endMs) continue;
    if (last === undefined || startMs > last.endMs) covered.push({ startMs, endMs });
    else last.endMs = Math.max(last.endMs, endMs);
  }
  return covered;
}

/** What both cover. @param a, b as {@link union} gives them */
export function intersection(a: readonly Interval[], b: readonly Interval[]): readonly Interval[] {
  const both: Interval[] = [];
  let [inA, inB] = [0, 0];
  for (;;) {
    const [one, other] = [a[inA], b[inB]];
    if (one === undefined || other === undefined) return both;
    const startMs = Math.max(one.startMs, other.startMs);
    const endMs = Math.min(one.endMs, other.endMs);
    if (startMs < endMs) both.push({ startMs, endMs });
    if (one.endMs < other.endMs) inA += 1;
    else inB += 1;
  }
}

/** What is left of `whole` without what is covered. @param covered as {@link union} gives it */
export function gaps(covered: readonly Interval[], whole: Interval): readonly Interval[] {
  const ends = [whole.startMs, ...covered.map(({ endMs }) => endMs)];
  const starts = [...covered.map(({ startMs }) => startMs), whole.endMs];
  const between = ends.map((startMs, nth) => ({ startMs, endMs: starts[nth] ?? startMs }));
  return intersection(
    between.filter(({ startMs, endMs }) => startMs < endMs),
    [whole],
  );
}
