import type { DatabaseSync } from "node:sqlite";
import type { Listed } from "./job-writer.ts";

/** The lists of jobs that deliveries carry. */
export interface JobLists {
  /** The line of a job, whatever has become of it, with its delivery; undefined where the delivery has gone. */
  find(job: number): { readonly delivery: number; readonly line: Listed } | undefined;
  /** All lines of a range of ids, of which `after` is not. */
  between(after: number, end: number): FoundLine[];
  remove(delivery: number, jobs: ReadonlySet<number>): void;
  /** Some go, others come to the end. A list may be long: it is read and written once. */
  change(delivery: number, by: ListChange): void;
  /** Says whose these jobs are, which were not made in one commit with their delivery. */
  madeLater(delivery: number, lines: readonly Listed[]): void;
}

/** What becomes of a list. */
export interface ListChange {
  readonly gone: ReadonlySet<number>;
  readonly added: readonly Listed[];
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

  let seen: { readonly text: string; readonly lines: ReadonlyMap<number, Listed> } = { text: "", lines: new Map() };

  const listOf = (delivery: number): Listed[] =>
    JSON.parse(String(sql.list.get(delivery)?.["jobs"] ?? "[]")) as Listed[];

  function change(delivery: number, { gone, added }: ListChange): void {
    const left = listOf(delivery).filter(([id]) => !gone.has(id));
    sql.set.run(JSON.stringify([...left, ...added]), delivery);
  }

  /** The list of the last look, by job: most looks are at the neighbour of the one before. */
  function linesOf({ jobs }: ListRow): ReadonlyMap<number, Listed> {
    if (jobs !== seen.text) {
      const lines = JSON.parse(jobs) as Listed[];
      seen = { text: jobs, lines: new Map(lines.map((line) => [line[0], line])) };
    }
    return seen.lines;
  }

  function madeLater(delivery: number, lines: readonly Listed[]): void {
    const first = lines[0];
    if (first !== undefined) sql.addLater.run(first[0], delivery);
  }

  return {
    find(job) {
      for (const statement of [sql.below, sql.later]) {
        const row = statement.get(job) as unknown as ListRow | undefined;
        const line = row && linesOf(row).get(job);
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
    remove: (delivery, gone) => change(delivery, { gone, added: [] }),
    change,
    madeLater,
  };
}
