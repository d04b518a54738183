import type { DatabaseSync } from "node:sqlite";
import type { Listed } from "./job-writer.ts";

/** The lists of jobs that deliveries carry. */
export interface JobLists {
  /** The line of a job, whatever has become of it, with its delivery; undefined where the delivery has gone. */
  find(job: number): { readonly delivery: number; readonly line: Listed } | undefined;
  /** All lines of a range of ids, of which `after` is not. */
  between(after: number, end: number): FoundLine[];
  remove(delivery: number, job: number): void;
  /** To the end of the list; the jobs were made in one go. */
  add(delivery: number, lines: readonly Listed[]): void;
  /** Says whose these jobs are, which were not made in one commit with their delivery. */
  madeLater(delivery: number, lines: readonly Listed[]): void;
}

/** A line with what its delivery says of it. */
interface FoundLine {
  readonly delivery: number;
  readonly line: Listed;
  readonly receivedAt: number;
  readonly account: number | null;
  readonly subscription: number | null;
}

type ListRow = Omit<FoundLine, "line"> & { readonly jobs: string };

const ROW = "id AS delivery, jobs, received_at AS receivedAt, account, subscription";

/** Reached by primary keys alone: a job's delivery is the last one below it, or the one that `later` names. */
export function createJobLists(db: DatabaseSync): JobLists {
  const sql = {
    below: db.prepare(`SELECT ${ROW} FROM delivery WHERE id < ? ORDER BY id DESC LIMIT 1`),
    later: db.prepare(
      `SELECT ${ROW} FROM delivery WHERE id = (SELECT delivery FROM later WHERE first_job <= ? ORDER BY first_job DESC LIMIT 1)`,
    ),
    between: db.prepare(
      `SELECT ${ROW} FROM delivery WHERE id >= coalesce((SELECT max(id) FROM delivery WHERE id <= :after), 0) AND id < :end
       UNION
       SELECT ${ROW} FROM delivery WHERE id IN (SELECT delivery FROM later
         WHERE first_job >= coalesce((SELECT max(first_job) FROM later WHERE first_job <= :after), 0) AND first_job <= :end)`,
    ),
    list: db.prepare("SELECT jobs FROM delivery WHERE id = ?"),
    set: db.prepare("UPDATE delivery SET jobs = ? WHERE id = ?"),
    addLater: db.prepare("INSERT INTO later VALUES (?, ?)"),
  };

  const listOf = (delivery: number): Listed[] =>
    JSON.parse(String(sql.list.get(delivery)?.["jobs"] ?? "[]")) as Listed[];

  function madeLater(delivery: number, lines: readonly Listed[]): void {
    const first = lines[0];
    if (first !== undefined) sql.addLater.run(first[0], delivery);
  }

  return {
    find(job) {
      for (const statement of [sql.below, sql.later]) {
        const row = statement.get(job) as unknown as ListRow | undefined;
        const line = row && (JSON.parse(row.jobs) as Listed[]).find(([id]) => id === job);
        if (row !== undefined && line !== undefined) return { delivery: row.delivery, line };
      }
      return undefined;
    },
    between: (after, end) =>
      (sql.between.all({ after, end }) as unknown as ListRow[]).flatMap(({ jobs, ...rest }) =>
        (JSON.parse(jobs) as Listed[])
          .filter(([id]) => id > after && id <= end)
          .map((line) => Object.assign({ line }, rest)),
      ),
    remove(delivery, job) {
      sql.set.run(JSON.stringify(listOf(delivery).filter(([id]) => id !== job)), delivery);
    },
    add(delivery, lines) {
      if (lines.length > 0) sql.set.run(JSON.stringify([...listOf(delivery), ...lines]), delivery);
      madeLater(delivery, lines);
    },
    madeLater,
  };
}
