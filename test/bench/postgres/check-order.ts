interface Expected {
  readonly jobs: number;
  /** The lane of a job is its index modulo this. */
  readonly lanes: number;
  readonly ordered: boolean;
}

/**
 * @param ranAt of each worker, by the job; 0 or nothing: it did not run there
 * @throws Error if a job did not run exactly once, or before the one in front of it in its lane
 */
export function checkOrder(ranAt: readonly Float64Array[], { jobs, lanes, ordered }: Expected) {
  const at = new Float64Array(jobs);
  let [firstAt, lastAt] = [Infinity, 0];
  for (let job = 0; job < jobs; job += 1) {
    const times = ranAt.flatMap((worker) => worker[job] || []);
    if (times.length !== 1) throw new Error(`Job ${job} ran in ${times.length} workers, expected 1.`);
    const time = times[0]!;
    if (ordered && job >= lanes && at[job - lanes]! > time) throw new Error(`Job ${job} ran before ${job - lanes}.`);
    at[job] = time;
    firstAt = Math.min(firstAt, time);
    lastAt = Math.max(lastAt, time);
  }
  return { firstAt, lastAt };
}
