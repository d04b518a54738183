import { MOST_GROUPS, type InboxJobs, type JobGroup, type JobQuery, type JobSummary } from "../../inbox/port/jobs.ts";
import type { JobPages } from "./job-pages.ts";

/** Groups in memory; jobs of others are only counted. The names of errors may all differ. */
const MOST_KEPT = 10_000;

/**
 * Counts what an inbox finds, job by job.
 * @throws ClosedError `closed`
 */
export async function summarize(pages: Pick<JobPages, "each">, jobs: InboxJobs, query: JobQuery): Promise<JobSummary> {
  const groups = new Map<string, { -readonly [F in keyof JobGroup]: JobGroup[F] }>();
  let count = 0;
  let isCut = false;
  await pages.each(jobs, query, ({ consumer, event, type = event?.type ?? "unknown", error, settledAt }) => {
    count += 1;
    const key = JSON.stringify([consumer, type, error?.name]);
    const at = settledAt ?? error?.at;
    let group = groups.get(key);
    if (group === undefined) {
      isCut ||= groups.size === MOST_KEPT;
      if (isCut) return;
      group = { ...(consumer && { consumer }), type, ...(error && { error: error.name }), count: 0 };
      groups.set(key, group);
    }
    group.count += 1;
    if (at !== undefined && at > (group.newestAt?.getTime() ?? 0)) group.newestAt = new Date(at);
  });
  const largest = [...groups.values()].toSorted((a, b) => b.count - a.count).slice(0, MOST_GROUPS);
  return { groups: largest, count, isCut: isCut || groups.size > MOST_GROUPS };
}
