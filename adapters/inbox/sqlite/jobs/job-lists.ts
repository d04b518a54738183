import type { DatabaseSync } from "node:sqlite";
import { isKey, rowsOf, toNumber } from "../schema/columns.ts";

/** What a list says of a job. */
export type Line = readonly [
  entry: number,
  type: string,
  /** Absent where no consumer handled it. */
  consumer?: string,
  lane?: string | null,
  mergeKey?: string | null,
];

/** The jobs of one delivery that were made in one commit: their ids follow each other. */
interface JobList {
  /** The id of the first line. */
  readonly first: number;
  readonly delivery: number;
  /** It stands in the row of its delivery. */
  readonly isOwn: boolean;
  readonly account: number | null;
  readonly subscription: number | null;
  readonly receivedAt: number;
  /** 0: a duplicate, or a job that was removed or replaced. */
  readonly lines: readonly (Line | 0)[];
}

/** A job as its list has it, whatever has become of it. */
export interface ListedJob extends Omit<JobList, "first" | "isOwn" | "lines"> {
  readonly id: number;
  readonly line: Line;
}

/** The lists of jobs, reached by primary keys alone. */
export interface JobLists {
  /** A transaction begins: another one may have changed what was read before. */
  begin(): void;
  find(job: number): ListedJob | undefined;
  /** Lists with jobs above an id, in the order of ids, parsed one by one; and empty ones of deliveries whose jobs were made later. */
  after(job: number): Generator<JobList>;
  /** Removes lines. A long list is written once. */
  remove(jobs: Iterable<number>): void;
  /** Adds a list that was not made with its delivery. @param list JSON of its lines */
  add(list: Pick<JobList, "first" | "delivery" | "account" | "subscription"> & { readonly list: string }): void;
}

type Stored = Omit<JobList, "isOwn" | "lines"> & { readonly isOwn: 0 | 1; readonly jobs: string | null };

const origin = (table: string): string =>
  ["account", "subscription"].map((column) => `${toNumber(`${table}.${column}`)} AS ${column}`).join();

export function createJobLists(db: DatabaseSync): JobLists {
  const ownRows = /* sql */ `SELECT 1 AS isOwn, id + 1 AS first, id AS delivery, ${origin("delivery")}, ${toNumber("received_at")} AS receivedAt, jobs
    FROM delivery`;
  const laterRows = /* sql */ `SELECT 0 AS isOwn, first_job AS first, delivery, ${origin("job_list")}, ${toNumber("received_at")} AS receivedAt,
    job_list.jobs FROM job_list JOIN delivery ON delivery.id = job_list.delivery`;
  const sql = {
    ownBelow: db.prepare(`${ownRows} WHERE id < ? ORDER BY id DESC LIMIT 1`),
    laterBelow: db.prepare(`${laterRows} WHERE first_job <= ? ORDER BY first_job DESC LIMIT 1`),
    ownAfter: db.prepare(`${ownRows} WHERE id >= ? AND ${isKey("id")} ORDER BY id`),
    laterAfter: db.prepare(`${laterRows} WHERE first_job >= ? AND ${isKey("first_job")} ORDER BY first_job`),
    setOwn: db.prepare("UPDATE delivery SET jobs = ? WHERE id = ?"),
    setLater: db.prepare("UPDATE job_list SET jobs = ? WHERE first_job = ?"),
    add: db.prepare("INSERT INTO job_list VALUES (?, ?, ?, ?, ?)"),
  };

  /** Most jobs that are looked for stand beside the one before. */
  let last: JobList | undefined;

  /** Each id is in the list that begins last before it. */
  function listOf(job: number): JobList | undefined {
    if (last !== undefined && job >= last.first && job < last.first + last.lines.length) return last;
    const candidates = [sql.ownBelow.get(job), sql.laterBelow.get(job)] as unknown as (Stored | undefined)[];
    const [one, other] = candidates;
    const stored = (other?.first ?? 0) >= (one?.first ?? 0) ? other : one;
    last = stored === undefined ? undefined : parse(stored);
    return last;
  }

  return {
    begin() {
      last = undefined;
    },
    find(job) {
      const list = listOf(job);
      const line = list?.lines[job - list.first];
      if (list === undefined || line === undefined || line === 0) return undefined;
      const { delivery, account, subscription, receivedAt } = list;
      return { id: job, delivery, account, subscription, receivedAt, line };
    },
    *after(job) {
      const first = listOf(job + 1)?.first ?? 0;
      const sources = [rowsOf<Stored>(sql.ownAfter, first - 1), rowsOf<Stored>(sql.laterAfter, first)];
      try {
        const heads = sources.map((source) => source.next().value);
        for (;;) {
          const [own, later] = heads;
          const index = (later?.first ?? Infinity) < (own?.first ?? Infinity) ? 1 : 0;
          const next = heads[index];
          if (!next) return;
          heads[index] = sources[index]?.next().value;
          yield parse(next);
        }
      } finally {
        for (const source of sources) source.return(undefined);
      }
    },
    remove(jobs) {
      const changed = new Map<number, (Line | 0)[]>();
      const lists = new Map<number, JobList>();
      for (const job of jobs) {
        const list = listOf(job);
        if (list === undefined || list.lines[job - list.first] === undefined) continue;
        lists.set(list.first, list);
        const lines = changed.get(list.first) ?? [...list.lines];
        lines[job - list.first] = 0;
        changed.set(list.first, lines);
      }
      for (const [first, lines] of changed) {
        const { isOwn, delivery } = lists.get(first) as JobList;
        const text = JSON.stringify(lines);
        if (isOwn) sql.setOwn.run(text, delivery);
        else sql.setLater.run(text, first);
      }
      last = undefined;
    },
    add({ first, delivery, account, subscription, list }) {
      sql.add.run(first, delivery, account, subscription, list);
    },
  };
}

function parse({ isOwn, jobs, ...list }: Stored): JobList {
  return { ...list, isOwn: isOwn === 1, lines: linesOf(jobs) };
}

/** The lines of a list as it is stored. Of a damaged one as much as can be read. */
export function linesOf(stored: unknown): (Line | 0)[] {
  if (typeof stored !== "string") return [];
  try {
    const lines: unknown = JSON.parse(stored);
    return Array.isArray(lines) ? lines.map((line) => (isLine(line) ? line : 0)) : [];
  } catch {
    return [];
  }
}

function isLine(line: unknown): line is Line {
  return Array.isArray(line) && typeof line[0] === "number" && typeof line[1] === "string";
}
