import type { Figure, Row } from "./figures.ts";
import type { Reached } from "./goals.ts";

/** How a text is set off; where there are no colours, not at all. */
export type Paint = (style: "bold" | "green" | "yellow" | "red", text: string) => string;

export interface Results {
  readonly rows: readonly Row[];
  readonly failures: ReadonlyMap<string, string>;
  readonly reached: readonly Reached[];
}

/** The results as text. */
export function toTable({ rows, failures, reached }: Results, paint: Paint): string {
  const cells = rows.map(toCells);
  const widths = HEAD.map((head, column) =>
    Math.max(head.length, ...cells.map((row) => (row[column] as string).length)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] as number) : cell.padStart(widths[column] as number),
      )
      .join("  ")
      .trimEnd();
  const failed = [...failures].map(([name, why]) => paint("red", `${name} failed: ${why}`));
  return [
    paint("bold", line(HEAD)),
    ...rows.map((row, index) =>
      row.title.startsWith("hookline") ? paint("bold", line(cells[index] as string[])) : line(cells[index] as string[]),
    ),
    "",
    LEGEND,
    ...(failed.length === 0 ? [] : ["", ...failed]),
    ...(reached.length === 0 ? [] : ["", ...reached.map((one) => toVerdict(one, paint))]),
  ].join("\n");
}

const HEAD = ["", "requests/s", "ratio (min-max)", "CPU us", "CPU ratio (min-max)", "p99 ms", "backlog"];

const LEGEND =
  "Ratios are to verify only of the same round, medians; more is faster. CPU us: the server's time on a core for a request.";

function toCells({ title, perSecond, ratio, cpuUs, cpuRatio, p99Ms, backlog }: Row): string[] {
  return [
    title,
    Math.round(perSecond.median).toLocaleString("en"),
    toRange(ratio),
    cpuUs.median.toFixed(1),
    toRange(cpuRatio),
    p99Ms.median.toFixed(1),
    backlog === undefined ? "" : String(backlog.max),
  ];
}

function toVerdict({ name, of, least, ratio, cpuRatio }: Reached, paint: Paint): string {
  const verdict = ratio.median >= least ? paint("green", "reached") : paint("yellow", "missed");
  return `${name}: ${toRange(ratio)} of ${of}, by CPU ${toRange(cpuRatio)}, goal ${least.toFixed(2)}: ${verdict}`;
}

function toRange({ median, min, max }: Figure): string {
  return `${median.toFixed(2)} (${min.toFixed(2)}-${max.toFixed(2)})`;
}
