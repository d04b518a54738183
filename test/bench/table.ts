import type { Figure, Row } from "./figures.ts";
import { toLines, type Paint } from "./format-columns.ts";
import type { BoundResult, GoalResult } from "./goals.ts";

export interface Results {
  readonly rows: readonly Row[];
  readonly failures: ReadonlyMap<string, string>;
  readonly reached: readonly GoalResult[];
  readonly bounds: readonly BoundResult[];
}

/** The results as text. */
export function toTable({ rows, failures, reached, bounds }: Results, paint: Paint): string {
  const goalLines = [...reached.map((one) => toGoalLine(one, paint)), ...bounds.map((one) => toBoundLine(one, paint))];
  const failed = [...failures].map(([name, why]) => paint("red", `${name} failed: ${why}`));
  return [
    ...toLines([HEAD, ...rows.map(toCells)], paint),
    "",
    LEGEND,
    ...(failed.length === 0 ? [] : ["", ...failed]),
    ...(goalLines.length === 0 ? [] : ["", ...goalLines]),
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

function toGoalLine({ name, of, least, ratio, cpuRatio }: GoalResult, paint: Paint): string {
  const outcome = ratio.median >= least ? paint("green", "reached") : paint("yellow", "missed");
  return `${name}: ${toRange(ratio)} of ${of}, by CPU ${toRange(cpuRatio)}, goal ${least.toFixed(2)}: ${outcome}`;
}

function toBoundLine({ name, figure, least, most, value, reached }: BoundResult, paint: Paint): string {
  const [unit, digits] = figure === "perSecond" ? ["requests/s", 0] : ["ms p99", 1];
  const [median, min, max] = [value.median, value.min, value.max].map((one) => one.toFixed(digits));
  const goal = least === undefined ? `at most ${most ?? ""}` : `at least ${least}`;
  return `${name}: ${median} (${min}-${max}) ${unit}, goal ${goal}: ${reached ? paint("green", "reached") : paint("yellow", "missed")}`;
}

function toRange({ median, min, max }: Figure): string {
  return `${median.toFixed(2)} (${min.toFixed(2)}-${max.toFixed(2)})`;
}
