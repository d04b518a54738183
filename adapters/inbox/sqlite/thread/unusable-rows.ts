import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { FileState } from "./file-state.ts";
import type { EndedCounts } from "../schema/ended-counts.ts";
import type { JobLists } from "../jobs/job-lists.ts";
import { isNumber, isNumberOrNull, isText, isTextOrNull, MOST, toNumber } from "../schema/columns.ts";

/**
 * Rows that nothing can handle: the delivery that they name is not in the file, or one of the two cannot be read. A damaged file has them once
 * it was repaired, and so has one from which a hand has deleted. None of them may stop the others.
 */
export interface UnusableRows {
  /** Removes those of a range of keys, some at a time. */
  removeUnusable(range: UnusableRange): RemovedRows;
  /** In the transaction of a take-over, while nothing is marked: removes rows whose keys cannot be read, and makes the counts anew. @returns whether one of them was wrong */
  recount(): boolean;
}

export interface UnusableRange {
  readonly from: TableOfRows;
  /** It is not looked at. */
  readonly after: number;
  /** The last one. @default all */
  readonly to?: number | undefined;
}

export interface RemovedRows {
  readonly rows: readonly RemovedRow[];
  /** Where to go on; undefined at the end. */
  readonly next: number | undefined;
}

/** @param key of a job; of the first one for a list; of the delivery for one that waits to be expanded */
export type RemovedRow = readonly [key: number, delivery: number];

/** In the order in which they are looked through. */
export const TABLES_OF_ROWS = ["unexpanded", "job", "dead", "unhandled", "job_list"] as const;
export type TableOfRows = (typeof TABLES_OF_ROWS)[number];

/** Rows looked at in one commit. */
const LOOKS = 1_000;

/** Whether a row of `delivery` can be given to a handler. */
export const IS_READABLE: string = [
  ...["delivery.received_at", "delivery.sent_at"].map(isNumber),
  ...["signed_by", "signature", "headers"].map((column) => isText(`delivery.${column}`)),
  isTextOrNull("delivery.source"),
  "typeof(delivery.body) = 'blob'",
  "CASE WHEN json_valid(delivery.headers) THEN json_type(delivery.headers) IN ('object', 'array') ELSE 0 END",
].join(" AND ");

/** What jobs have, wherever they stand. */
const IS_JOB = [
  ...["id", "entry", "received_at", "attempts"].map(isNumber),
  ...["account", "subscription", "replay_of"].map(isNumberOrNull),
  isText("type"),
  isTextOrNull("consumer"),
  isTextOrNull("error"),
].join(" AND ");

const IS_OPEN_JOB = [
  IS_JOB,
  ...["deaths", "run_at", "delay_ms"].map(isNumber),
  ...["group_max", "first_attempt_at"].map(isNumberOrNull),
  isText("consumer"),
  isTextOrNull("lane"),
  isTextOrNull("merge_key"),
].join(" AND ");

const IS_ENDED_JOB = `${IS_JOB} AND ${isNumber("settled_at")}`;

const RULES: Record<TableOfRows, { readonly key: string; readonly isValid: string }> = {
  unexpanded: { key: "delivery", isValid: isNumber("cursor") },
  job: { key: "id", isValid: IS_OPEN_JOB },
  dead: { key: "id", isValid: IS_ENDED_JOB },
  unhandled: { key: "id", isValid: IS_ENDED_JOB },
  job_list: { key: "first_job", isValid: isText("jobs") },
};

/** Keys that no commit gave: a row that has another one cannot be read. */
const KEYS = [
  ...Object.entries(RULES).map(([table, { key }]) => [table, key] as const),
  ["delivery", "id"],
  ["request", "id"],
  ["subscribed_resource", "id"],
] as const;

/** Rows with such keys. The primary key leads to them: in one statement with OR and NOT, every delivery would be looked at, with its body. */
export const REMOVE_IMPOSSIBLE: readonly string[] = KEYS.flatMap(([table, key]) => [
  `DELETE FROM ${table} WHERE ${key} < 1`,
  `DELETE FROM ${table} WHERE ${key} > ${MOST}`,
]);

/** Counts of the state, each with the table whose rows it counts. */
const COUNTED = [
  ["unexpanded", "unexpanded"],
  ["open", "job"],
  ["dead", "dead"],
  ["unhandled", "unhandled"],
] as const;

interface UnusableRowsDeps {
  readonly state: FileState;
  readonly lists: JobLists;
  readonly ended: Pick<EndedCounts, "recountGroups">;
}

export function createUnusableRows(db: DatabaseSync, { state, lists, ended }: UnusableRowsDeps): UnusableRows {
  const sql = new Map(TABLES_OF_ROWS.map((table) => [table, statementsOf(table)]));
  const count = (table: TableOfRows): number =>
    Number(db.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.["count"]);

  function statementsOf(table: TableOfRows): { readonly end: StatementSync; readonly remove: StatementSync } {
    const { key, isValid } = RULES[table];
    const isWhole = `(${isValid}) AND EXISTS (SELECT 1 FROM delivery WHERE delivery.id = ${table}.delivery AND ${IS_READABLE})`;
    return {
      end: db.prepare(
        `SELECT ${key} AS key FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT 1 OFFSET ${LOOKS - 1}`,
      ),
      remove: db.prepare(/* sql */ `DELETE FROM ${table} WHERE ${key} > ? AND ${key} <= ? AND NOT ifnull(${isWhole}, 0)
         RETURNING ${toNumber(key)} AS key, ${toNumber("delivery")} AS delivery`),
    };
  }

  /** Fresh jobs have no row: what the file knows of them is in their list. */
  function removeFresh({ after, to = Infinity }: UnusableRange): RemovedRow[] {
    const gone = [...state.mark.entries()].filter(
      ({ id, isFresh }) => isFresh && id > after && id <= to && lists.find(id) === undefined,
    );
    for (const { id } of gone) state.mark.remove(id);
    state.add("open", -gone.length);
    return gone.map(({ id }) => [id, id]);
  }

  return {
    removeUnusable(range) {
      const { from, after, to = Number.MAX_SAFE_INTEGER } = range;
      const { end, remove } = sql.get(from) as ReturnType<typeof statementsOf>;
      const page = Number(end.get(after)?.["key"] ?? to);
      const last = Math.min(page, to);
      const rows = remove.all(after, last).map(({ key, delivery }): RemovedRow => [Number(key), Number(delivery)]);
      if (from !== "job_list") state.add(from === "job" ? "open" : from, -rows.length);
      if (from === "job") {
        for (const [id] of rows) state.mark.remove(id);
        if (last === to) for (const row of removeFresh(range)) rows.push(row); // more than a call takes as arguments
      } else if (from === "unexpanded" && last === to) state.set("unexpanded", count("unexpanded"));
      lists.begin(); // what was looked up may be gone
      if (from !== "job_list" && from !== "unexpanded") lists.remove(rows.map(([id]) => id));
      return { rows, next: last < to ? last : undefined };
    },
    recount() {
      for (const statement of REMOVE_IMPOSSIBLE) db.exec(statement);
      ended.recountGroups();
      const wrong = COUNTED.map(([what, table]) => state.set(what, count(table)));
      return wrong.includes(true);
    },
  };
}
