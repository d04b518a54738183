import type { Load } from "./load.ts";
import type { Usage } from "./servers/serve.ts";

/** One value over several rounds. */
export interface Figure {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** @param values at least one */
export function toFigure(values: readonly number[]): Figure {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const [low, high] = [sorted[Math.floor(middle)], sorted[Math.ceil(middle)]] as [number, number];
  return { median: (low + high) / 2, min: sorted[0] as number, max: sorted.at(-1) as number };
}

/** The quantile for a share from 0 to 1. @param values at least one */
export function toQuantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(Math.ceil(sorted.length * share) - 1, 0)] as number;
}

/** The measurement of one contender in one round. */
export interface Sample {
  readonly perSecond: number;
  /** CPU time of the server for one request, microseconds. */
  readonly cpuUs: number;
  readonly p99Ms: number;
  /** Most deliveries that were stored and not handled yet, if there is a handler. */
  readonly backlog?: number;
}

/** @param before the server's usage before the load, and `after` it */
export function toSample({ requests, seconds, p99Ms }: Load, before: Usage, { cpuUs, backlog }: Usage): Sample {
  return {
    perSecond: requests / seconds,
    cpuUs: (cpuUs - before.cpuUs) / requests,
    p99Ms,
    ...(backlog === undefined ? {} : { backlog }),
  };
}

/** The result of one contender. Ratios are to the baseline of the same round: of requests/s more is faster, of CPU time less. */
export interface Row {
  readonly name: string;
  readonly title: string;
  readonly perSecond: Figure;
  readonly cpuUs: Figure;
  readonly p99Ms: Figure;
  readonly ratio: Figure;
  readonly cpuRatio: Figure;
  readonly backlog?: Figure;
}

/** Of each round, in their order. */
export function toRatios(
  samples: readonly Sample[],
  baseline: readonly Sample[],
  figure: "perSecond" | "cpuUs" | "p99Ms",
): readonly number[] {
  return samples.map((sample, round) => sample[figure] / (baseline[round]?.[figure] ?? Number.NaN));
}

/**
 * @param samples of each round, in their order
 * @param baseline of the same rounds
 */
export function toRow(
  { name, title }: Pick<Row, "name" | "title">,
  samples: readonly Sample[],
  baseline: readonly Sample[],
): Row {
  const backlogs = samples.flatMap(({ backlog }) => backlog ?? []);
  return {
    name,
    title,
    perSecond: toFigure(samples.map(({ perSecond }) => perSecond)),
    cpuUs: toFigure(samples.map(({ cpuUs }) => cpuUs)),
    p99Ms: toFigure(samples.map(({ p99Ms }) => p99Ms)),
    ratio: toFigure(toRatios(samples, baseline, "perSecond")),
    cpuRatio: toFigure(toRatios(samples, baseline, "cpuUs")),
    ...(backlogs.length === 0 ? {} : { backlog: toFigure(backlogs) }),
  };
}
