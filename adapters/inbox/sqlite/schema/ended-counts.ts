import type { DatabaseSync } from "node:sqlite";
import type { CountedGroup, JobQuery } from "../../../../src/adapter.ts";

/** How many dead and unhandled jobs there are, by consumer, type and name of the last error. */
export interface EndedCounts {
  /** The largest first. */
  endedGroups(query: JobQuery & { readonly most: number }): readonly CountedGroup[];
  /** Makes those anew that are wrong. */
  recountGroups(): void;
}

const ENDED = ["dead", "unhandled"] as const;

/** The name of an error in a row, "" where there is none that can be read. */
const errorName = (row = ""): string =>
  `CASE WHEN json_valid(${row}error) THEN ifnull(${row}error ->> '$.name', '') ELSE '' END`;

const groupOf = (table: string, row: string): string =>
  `state = '${table}' AND type = ${row}type AND consumer = ifnull(${row}consumer, '') AND error = ${errorName(row)}`;

/** Kept by triggers: whatever adds or removes a row counts it. newest_at: when the newest one ended that ever was in it. */
export const ENDED_COUNT: string = /* sql */ `
  CREATE TABLE ended_count (
    state TEXT NOT NULL, type TEXT NOT NULL, consumer TEXT NOT NULL, error TEXT NOT NULL, count INTEGER NOT NULL, newest_at INTEGER NOT NULL,
    PRIMARY KEY (state, type, consumer, error)
  ) WITHOUT ROWID;
  CREATE INDEX ended_count_count ON ended_count (state, count);
  CREATE INDEX dead_group ON dead (type, consumer, ${errorName()});
  ${ENDED.map(
    (table) => /* sql */ `
  CREATE TRIGGER ${table}_added AFTER INSERT ON ${table} BEGIN
    INSERT INTO ended_count VALUES ('${table}', new.type, ifnull(new.consumer, ''), ${errorName("new.")}, 1, new.settled_at)
      ON CONFLICT DO UPDATE SET count = count + 1, newest_at = max(newest_at, excluded.newest_at);
  END;
  CREATE TRIGGER ${table}_removed AFTER DELETE ON ${table} BEGIN
    UPDATE ended_count SET count = count - 1 WHERE ${groupOf(table, "old.")};
    DELETE FROM ended_count WHERE state = '${table}' AND count < 1;
  END;`,
  ).join("")}`;

/** Counts what is there. */
const FILL = /* sql */ `DELETE FROM ended_count;${ENDED.map(
  (table) => `
  INSERT INTO ended_count SELECT '${table}', type, ifnull(consumer, ''), ${errorName()}, count(*), max(settled_at) FROM ${table} GROUP BY 2, 3, 4;`,
).join("")}`;

/** Version 5. */
export function addEndedCount(db: DatabaseSync): void {
  db.exec(ENDED_COUNT + FILL);
}

/** Dead jobs of one group, by an index that knows them. */
export const OF_GROUP: string = `type = ? AND consumer = ? AND ${errorName()} = ?`;

/** A parameter of a statement: JSON of what the column may be; null: anything. */
const isOneOf = (column: string, place: number): string =>
  `(?${place} IS NULL OR ${column} IN (SELECT value FROM json_each(?${place})))`;
const json = (values: readonly string[] | undefined): string | null =>
  values === undefined ? null : JSON.stringify(values);

export function createEndedCounts(db: DatabaseSync): EndedCounts {
  const sql = {
    groups: db.prepare(/* sql */ `SELECT type, consumer, error, sum(count) AS count, max(newest_at) AS newestAt FROM
         (SELECT * FROM ended_count WHERE ${isOneOf("state", 1)} AND ${isOneOf("type", 2)} AND ${isOneOf("consumer", 3)} AND ${isOneOf("error", 4)}
          ORDER BY count DESC LIMIT ?5)
       GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3`),
    wrong: db.prepare(
      ENDED.map(
        (table) =>
          `SELECT 1 WHERE (SELECT count(*) FROM ${table}) <> (SELECT total(count) FROM ended_count WHERE state = '${table}')`,
      ).join(" UNION ALL "),
    ),
  };

  return {
    endedGroups({ states = [], types, consumer, error, most }) {
      const [of, named] = [consumer, error].map((value) => json(value === undefined ? undefined : [value]));
      const rows = sql.groups.all(json(states), json(types), of ?? null, named ?? null, most);
      return rows as unknown as readonly CountedGroup[];
    },
    recountGroups() {
      if (sql.wrong.get() !== undefined) db.exec(FILL);
    },
  };
}
