import type { Figure } from "./figures.ts";

/** Highlights a text; without colours it returns the text unchanged. */
export type Paint = (style: "bold" | "green" | "yellow" | "red", text: string) => string;

/** Rows of cells as lines, the first column to the left and numbers to the right. The first row is the head; it and our own rows are highlighted. */
export function toLines(rows: readonly (readonly string[])[], paint: Paint): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  return rows.map((row, index) => {
    const cells = widths.map((width, column) =>
      column === 0 ? (row[column] ?? "").padEnd(width) : (row[column] ?? "").padStart(width),
    );
    const line = cells.join("  ").trimEnd();
    return index === 0 || row[0]?.startsWith("hookline") === true ? paint("bold", line) : line;
  });
}

/** A ratio: the median, and its range. */
export function toRange({ median, min, max }: Figure): string {
  return `${median.toFixed(2)} (${min.toFixed(2)}-${max.toFixed(2)})`;
}
