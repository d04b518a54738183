import { BASELINE } from "./contenders.ts";
import { toRatios, type Sample } from "./figures.ts";
import { goalResultsOf, type Goal, type GoalResult } from "./goal-result.ts";

/** A goal for one contender, as a ratio to another of the same round. */
interface RequestGoal extends Pick<Goal, "least" | "most"> {
  readonly name: string;
  readonly of: string;
  readonly figure?: "perSecond" | "p99Ms";
}

export const GOALS: readonly RequestGoal[] = [
  { name: "node", of: BASELINE, least: 1 },
  { name: "node-handler", of: BASELINE, least: 0.95 },
  { name: "node-handler", of: BASELINE, figure: "p99Ms", most: 1.5 },
  { name: "express-handler", of: "express-by-hand", least: 1.1 },
  ...["express", "koa", "fastify", "hono", "nest", "gcp"].map((name) => ({ name, of: `${name}-by-hand`, least: 0.95 })),
];

/** Results of the goals whose two sides were measured. */
export function requestGoalResultsOf(samples: ReadonlyMap<string, readonly Sample[]>): readonly GoalResult[] {
  return GOALS.flatMap(({ name, of, figure = "perSecond", ...bounds }) => {
    const [own = [], other = []] = [samples.get(name), samples.get(of)];
    const says = `${name}, ${figure === "perSecond" ? "requests/s" : "p99"} of ${of}`;
    return goalResultsOf({ says, ...bounds }, toRatios(own, other, figure));
  });
}
