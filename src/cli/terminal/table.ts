import { styleText } from "node:util";
import type { Terminal } from "../command.ts";

/** Least width of the last column on a narrow terminal. */
const MIN_LAST_WIDTH = 10;

/**
 * Rows under heads, page by page: the first page determines the widths of the columns.
 *
 * @param stream a terminal cuts the last column; elsewhere it is whole
 */
export function createTable(heads: readonly string[], stream: Terminal) {
  let widths: readonly number[] | undefined;

  function toLine(row: readonly string[], columnWidths: readonly number[]): string {
    const before = row.slice(0, -1).map((cell, column) => padded(cell, columnWidths[column] as number));
    const start = before.join("  ");
    const last = row.at(-1) as string;
    const room = stream.columns === undefined ? Infinity : stream.columns - widthOf(start) - 2;
    return `${start}  ${cut(last, Math.max(room, MIN_LAST_WIDTH))}`.trimEnd();
  }

  return {
    /** @param rows plain text for each column */
    lines(rows: readonly (readonly string[])[]): readonly string[] {
      const isFirst = widths === undefined;
      widths ??= heads.map((name, column) =>
        Math.max(...[name, ...rows.map((row) => row[column] as string)].map(widthOf)),
      );
      const known = widths;
      const lines = rows.map((row) => toLine(row, known));
      return isFirst ? [styleText("bold", toLine(heads, known), { stream }), ...lines] : lines;
    },
  };
}

/** Names and values, a line each; without those that have no value. */
export function factLines(facts: readonly (readonly [name: string, value: string | undefined])[]): readonly string[] {
  const known = facts.filter((fact): fact is readonly [string, string] => fact[1] !== undefined);
  const width = Math.max(...known.map(([name]) => name.length));
  return known.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
}

/** Characters of two columns: emoji, and the scripts of East Asia. */
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}])/u;
const graphemes = new Intl.Segmenter("en");

/** Width of a text on a terminal, in columns. */
export function widthOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += segmentWidth(segment);
  return width;
}

/** The text with spaces up to a width. */
export function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(width - widthOf(text), 0));
}

/** The text, or as much of it as fits with an ellipsis. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let shown = "";
  let left = width - 1;
  for (const { segment } of graphemes.segment(text)) {
    left -= segmentWidth(segment);
    if (left < 0) break;
    shown += segment;
  }
  return `${shown}…`;
}

function segmentWidth(segment: string): number {
  if (/^\p{M}/u.test(segment)) return 0;
  return WIDE.test(segment) || segment.includes("\u{fe0f}") ? 2 : 1;
}
