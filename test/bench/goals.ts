import { BASELINE } from "./contenders.ts";
import { toFigure, type Figure, type Sample } from "./figures.ts";

/** A goal for one contender, as a ratio to another of the same round. */
interface Goal {
  readonly name: string;
  readonly of: string;
  readonly least: number;
}

/** An absolute goal for one contender. */
interface Bound {
  readonly name: string;
  readonly figure: "perSecond" | "p99Ms";
  readonly least?: number;
  readonly most?: number;
}

export const GOALS: readonly Goal[] = [
  { name: "node", of: BASELINE, least: 0.88 },
  { name: "node-handler", of: BASELINE, least: 0.8 },
  ...["express", "koa", "fastify", "hono", "nest", "gcp"].map((name) => ({ name, of: `${name}-by-hand`, least: 0.95 })),
  { name: "sqlite", of: BASELINE, least: 0.85 },
  { name: "sqlite-256", of: "verify-only-256", least: 0.85 },
  { name: "sqlite-handler", of: BASELINE, least: 0.7 },
  { name: "sqlite-minute", of: BASELINE, least: 0.7 },
  { name: "sqlite-retention", of: BASELINE, least: 0.6 },
];

const BOUNDS: readonly Bound[] = [
  { name: "sqlite-slow-disk", figure: "perSecond", least: 6_000 },
  { name: "sqlite-slow-disk", figure: "p99Ms", most: 100 },
  { name: "sqlite-paced", figure: "p99Ms", most: 10 },
];

/** A goal with the measured ratios: of requests/s, and of CPU time. */
export interface GoalResult extends Goal {
  readonly ratio: Figure;
  readonly cpuRatio: Figure;
}

/** A bound with the measured value. */
export interface BoundResult extends Bound {
  readonly value: Figure;
  readonly reached: boolean;
}

/** Results of the bounds that were measured. */
export function boundResultsOf(samples: ReadonlyMap<string, readonly Sample[]>): readonly BoundResult[] {
  return BOUNDS.flatMap((bound) => {
    const own = samples.get(bound.name);
    if (own === undefined) return [];
    const value = toFigure(own.map((sample) => sample[bound.figure]));
    const { least = -Infinity, most = Infinity } = bound;
    return [{ ...bound, value, reached: value.median >= least && value.median <= most }];
  });
}

/** Results of the goals whose two sides were measured. */
export function goalResultsOf(samples: ReadonlyMap<string, readonly Sample[]>): readonly GoalResult[] {
  return GOALS.flatMap((goal) => {
    const [own, other] = [samples.get(goal.name), samples.get(goal.of)];
    if (own === undefined || other === undefined) return [];
    const ratio = toFigure(own.map(({ perSecond }, round) => perSecond / (other[round]?.perSecond ?? Number.NaN)));
    const cpuRatio = toFigure(own.map(({ cpuUs }, round) => (other[round]?.cpuUs ?? Number.NaN) / cpuUs));
    return [{ ...goal, ratio, cpuRatio }];
  });
}
