import type { Row } from "./figures.ts";
import { toLines, toRange, type Paint } from "./format-columns.ts";
import { toGoalLine, type GoalResult } from "./goal-result.ts";

export interface Results {
  readonly rows: readonly Row[];
  readonly failures: ReadonlyMap<string, string>;
  readonly reached: readonly GoalResult[];
}

/** The results as text. */
export function toTable({ rows, failures, reached }: Results, paint: Paint): string {
  const failed = [...failures].map(([name, why]) => paint("red", `${name} failed: ${why}`));
  const goalLines = reached.map((one) => toGoalLine(one, paint));
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
  "Ratios are to verify only of the same round, medians; of CPU time less is better. CPU us: the server's time on a core for a request, all threads.";

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
