import { toFigure, toRatios, type Sample } from "../figures.ts";
import { toLines, toRange, type Paint } from "../format-columns.ts";
import { toGoalLine, type GoalResult } from "../goal-result.ts";
import type { Pairs, RowMeasured } from "./measure-row.ts";
import type { OpenLoad } from "./open-load.ts";
import type { DurableRow } from "./rows.ts";

export interface DurableResults {
  /** Those that were measured have a result. */
  readonly rows: readonly DurableRow[];
  readonly measured: ReadonlyMap<string, RowMeasured>;
  readonly failures: ReadonlyMap<string, string>;
  readonly reached: readonly GoalResult[];
}

interface TitledRow extends RowMeasured {
  readonly title: string;
}

const HEAD = [
  "On disk",
  "req/s",
  "warm (min-max)",
  "cold (min-max)",
  "CPU us",
  "CPU warm",
  "CPU cold",
  "core",
  "p99 ms",
];
const OPEN_HEAD = [
  "At half of its capacity",
  "offered/s",
  "p50 ms",
  "p99 ms (min-max)",
  "max ms",
  "verify only p99",
  "unsent",
];

const LEGEND = `Ratios are to verify only on the same core with as many connections, in slices that alternate; medians. Of requests/s more is
better, of CPU time a request (all threads) less. Cold: seconds 2 to 7 of the process; warm: after 20 s. Core: used by
the server; much less than 100 % means that something else was the limit: use the CPU ratios.`;
const OPEN_LEGEND =
  "Offered at a fixed rate, whatever the answers do; from when a request was due to its answer. Verify only at half of its own.";

/** The results as text. */
export function toDurableTable({ rows, measured, failures, reached }: DurableResults, paint: Paint): string {
  const known = rows.flatMap(({ name, title }) => {
    const one = measured.get(name);
    return one === undefined ? [] : [{ title, ...one }];
  });
  const failed = [...failures].map(([name, why]) => paint("red", `${name} failed: ${why}`));
  return [
    toLines([HEAD, ...known.map(toCells)], paint),
    [LEGEND],
    toLines([OPEN_HEAD, ...known.map(toOpenCells)], paint),
    [OPEN_LEGEND],
    failed,
    reached.map((one) => toGoalLine(one, paint)),
  ]
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n");
}

function toCells({ title, warm, cold }: TitledRow): string[] {
  const [perSecond, cpuUs, p99Ms] = [median(warm, "perSecond"), median(warm, "cpuUs"), median(warm, "p99Ms")];
  return [
    title,
    Math.round(perSecond).toLocaleString("en"),
    toRange(ratio(warm, "perSecond")),
    toRange(ratio(cold, "perSecond")),
    cpuUs.toFixed(1),
    toRange(ratio(warm, "cpuUs")),
    toRange(ratio(cold, "cpuUs")),
    `${Math.round((perSecond * cpuUs) / 10_000)} %`,
    p99Ms.toFixed(1),
  ];
}

function toOpenCells({ title, half: { own, baseline } }: TitledRow): string[] {
  const figure = (loads: readonly OpenLoad[], name: keyof OpenLoad) => toFigure(loads.map((load) => load[name]));
  return [
    title,
    Math.round(figure(own, "perSecond").median).toLocaleString("en"),
    figure(own, "p50Ms").median.toFixed(1),
    toRange(figure(own, "p99Ms")),
    figure(own, "maxMs").max.toFixed(0),
    toRange(figure(baseline, "p99Ms")),
    String(figure(own, "unsent").max),
  ];
}

function ratio({ own, baseline }: Pairs, figure: "perSecond" | "cpuUs") {
  return toFigure(toRatios(own, baseline, figure));
}

function median({ own }: Pairs, figure: keyof Omit<Sample, "backlog">): number {
  return toFigure(own.map((sample) => sample[figure])).median;
}
