import type { DatabaseSync } from "node:sqlite";
import type { JobLists } from "../jobs/job-lists.ts";
import type { FileState } from "../thread/file-state.ts";

/** Which deliveries of a range something refers to. */
export interface NeededDeliveries {
  /** Rows of jobs, and what is not expanded yet. */
  byRows(first: number, last: number): Set<number>;
  /** Fresh jobs that run: they have no row. */
  byRunning(first: number, last: number): Set<number>;
}

/** Ids from the first to the last of a range that is looked at in one step: what is in between may be rows of jobs. */
export const IDS = 10_000;

/** How many jobs a list has. Of a damaged one it is not known: as many as a step looks at. */
const LENGTH = `CASE WHEN jobs IS NULL THEN 0 WHEN json_valid(jobs) THEN json_array_length(jobs) ELSE ${IDS} END`;

export function createNeededDeliveries(
  db: DatabaseSync,
  { state, lists }: { readonly state: FileState; readonly lists: JobLists },
): NeededDeliveries {
  const sql = {
    end: db.prepare(`SELECT id + 1 + ${LENGTH} AS end FROM delivery WHERE id = ?`),
    // Jobs that were made with a delivery have ids between its own and the next one's. Those that were made later are in lists of their own.
    needed: db.prepare(/* sql */ `WITH range AS (
         SELECT :first + 1 AS first, :end AS end
         UNION ALL SELECT first_job, first_job + ${LENGTH} FROM job_list WHERE delivery BETWEEN :first AND :last
       )
       SELECT delivery FROM unexpanded WHERE delivery BETWEEN :first AND :last
       UNION ALL SELECT delivery FROM range CROSS JOIN job WHERE job.id >= range.first AND job.id < range.end
       UNION ALL SELECT delivery FROM range CROSS JOIN dead WHERE dead.id >= range.first AND dead.id < range.end
       UNION ALL SELECT delivery FROM range CROSS JOIN unhandled WHERE unhandled.id >= range.first AND unhandled.id < range.end`),
    later: db.prepare(
      `SELECT min(first_job) AS first, max(first_job + ${LENGTH}) AS end FROM job_list WHERE delivery BETWEEN ? AND ?`,
    ),
  };
  // Where the last one is gone, the jobs of those before it have ids below its own.
  const endOf = (last: number): number => Number(sql.end.get(last)?.["end"] ?? last + 1);

  return {
    byRows(first, last) {
      const rows = sql.needed.all({ first, last, end: endOf(last) });
      return new Set(rows.map(({ delivery }) => Number(delivery)));
    },
    byRunning(first, last) {
      // Most that run are of newer deliveries: their lists are not read.
      const end = endOf(last);
      const later = sql.later.get(first, last);
      const [laterFirst, laterEnd] = [Number(later?.["first"] ?? Infinity), Number(later?.["end"])];
      const ids = [...state.mark.entries()].flatMap(({ id, isFresh }) => {
        const isNear = (id > first && id < end) || (id >= laterFirst && id < laterEnd);
        return (isFresh && isNear ? lists.find(id)?.delivery : undefined) ?? [];
      });
      return new Set(ids);
    },
  };
}
