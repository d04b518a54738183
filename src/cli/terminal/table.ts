import { styleText } from "node:util";
import type { Terminal } from "../command.ts";
import { cut, padded, widthOf } from "./column-width.ts";

/** Rows under a head, page by page: the first page says how wide the columns are. */
export interface Table {
  /** @param rows a text for each column, plain */
  lines(rows: readonly (readonly string[])[]): readonly string[];
}

/** Least width of the last column where the terminal is too narrow for it. */
const LEAST = 10;

/** @param stream a terminal cuts the last column; elsewhere it is whole */
export function createTable(heads: readonly string[], stream: Terminal): Table {
  let widths: readonly number[] | undefined;

  function lineOf(row: readonly string[], of: readonly number[]): string {
    const before = row.slice(0, -1).map((cell, column) => padded(cell, of[column] as number));
    const start = before.join("  ");
    const last = row.at(-1) as string;
    const room = stream.columns === undefined ? Infinity : stream.columns - widthOf(start) - 2;
    return `${start}  ${cut(last, Math.max(room, LEAST))}`.trimEnd();
  }

  return {
    lines(rows) {
      const head = widths === undefined;
      widths ??= heads.map((name, column) =>
        Math.max(...[name, ...rows.map((row) => row[column] as string)].map(widthOf)),
      );
      const known = widths;
      const lines = rows.map((row) => lineOf(row, known));
      return head ? [styleText("bold", lineOf(heads, known), { stream }), ...lines] : lines;
    },
  };
}

/** Names and what they say, a line each. */
export function factLines(facts: readonly (readonly [name: string, value: string | undefined])[]): readonly string[] {
  const told = facts.filter((fact): fact is readonly [string, string] => fact[1] !== undefined);
  const width = Math.max(...told.map(([name]) => name.length));
  return told.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
}
