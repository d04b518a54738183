import { toFigure, type Figure, type Sample } from "./figures.ts";
import { BASELINE } from "./contenders.ts";

/** What one contender should reach beside another of the same round. */
interface Goal {
  readonly name: string;
  readonly of: string;
  readonly least: number;
}

export const GOALS: readonly Goal[] = [
  { name: "node", of: BASELINE, least: 0.88 },
  { name: "node-handler", of: BASELINE, least: 0.8 },
  { name: "express", of: "express-by-hand", least: 0.95 },
];

/** A goal and how near the run came: by requests a second, and by the server's time on a core. */
export interface Reached extends Goal {
  readonly ratio: Figure;
  readonly cpuRatio: Figure;
}

/** Of those goals whose two sides were measured. */
export function reachedOf(samples: ReadonlyMap<string, readonly Sample[]>): readonly Reached[] {
  return GOALS.flatMap((goal) => {
    const [own, other] = [samples.get(goal.name), samples.get(goal.of)];
    if (own === undefined || other === undefined) return [];
    const ratio = toFigure(own.map(({ perSecond }, round) => perSecond / (other[round]?.perSecond ?? Number.NaN)));
    const cpuRatio = toFigure(own.map(({ cpuUs }, round) => (other[round]?.cpuUs ?? Number.NaN) / cpuUs));
    return [{ ...goal, ratio, cpuRatio }];
  });
}
