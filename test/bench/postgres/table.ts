import { toFigure } from "../figures.ts";
import { toLines, type Paint } from "../format-columns.ts";
import { toFigureText, toGoalLine, type GoalResult } from "../goal-result.ts";
import { QUEUES } from "./queue.ts";
import type { PostgresMeasured } from "./rounds.ts";
import { POSTGRES_ROWS } from "./rows.ts";

/** A line for each row and figure, a column for each contender; goals below. */
export function toPostgresTable(
  { rounds, failures }: PostgresMeasured,
  reached: readonly GoalResult[],
  { paint, skipped }: { readonly paint: Paint; readonly skipped: ReadonlyMap<string, string> },
): string {
  const figures = [
    ["perSecond", ""],
    ["p50Ms", ", p50"],
    ["p99Ms", ", p99"],
    ["mb", ""],
  ] as const;
  const lines = POSTGRES_ROWS.flatMap(({ name, title }) =>
    figures.flatMap(([figure, suffix]) => {
      const cells = QUEUES.map((queue) => {
        const values = rounds.flatMap((round) => round.get(name)?.get(queue.name)?.[figure] ?? []);
        return values.length === 0 ? "" : toFigureText(toFigure(values));
      });
      return cells.every((cell) => cell === "") ? [] : [[`${title}${suffix}`, ...cells]];
    }),
  );
  const parts = [
    toLines([["Through PostgreSQL", ...QUEUES.map(({ title }) => title)], ...lines], paint),
    Array.from(skipped, ([name, why]) => paint("yellow", `${name} skipped: ${why}`)),
    Array.from(failures, ([name, why]) => paint("red", `${name} failed: ${why}`)),
    reached.map((one) => toGoalLine(one, paint)),
  ];
  return parts
    .filter((part) => part.length > 0)
    .map((part) => part.join("\n"))
    .join("\n\n");
}
