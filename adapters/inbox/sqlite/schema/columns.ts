import type { SQLInputValue, StatementSync } from "node:sqlite";

// A column's own type is no promise: SQLite stores in it what it is given, and `node:sqlite` throws where it reads an integer beyond 2^53.

/** What can be read is at most so far from 0. */
export const MOST = "9e15";

/** Whether it is a number that can be read. */
export const isNumber = (column: string): string => `${column} BETWEEN -${MOST} AND ${MOST}`;
/** The same of a primary key above another: two lower bounds could make SQLite begin at the first row. */
export const isKey = (column: string): string => `${column} <= ${MOST}`;
export const isNumberOrNull = (column: string): string => `(${column} IS NULL OR ${isNumber(column)})`;
export const isText = (column: string): string => `typeof(${column}) = 'text'`;
export const isTextOrNull = (column: string): string => `typeof(${column}) IN ('text', 'null')`;

/** A column as a number that can be read, or null, whatever is stored. */
export const toNumber = (column: string): string => `max(min(CAST(${column} AS REAL), ${MOST}), -${MOST})`;

/** The rows of a statement, one by one. It is closed also where one of them cannot be read: else nobody could cut the log any more. */
export function* rowsOf<T>(statement: StatementSync, ...values: readonly SQLInputValue[]): Generator<T, undefined> {
  const rows = statement.iterate(...values) as unknown as Iterator<T, undefined>;
  try {
    for (let row = rows.next(); row.done !== true; row = rows.next()) yield row.value;
  } finally {
    rows.return?.();
  }
  return undefined;
}
