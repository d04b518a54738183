import { toFigureText, type GoalResult } from "./goal-result.ts";

/** The lines of a page's table that start with a goal, with the measured figures in the last column. */
export function toPageTable(page: string, reached: readonly GoalResult[]): readonly string[] {
  const figures = new Map(reached.map(({ says, figure }) => [says, toFigureText(figure)]));
  return page.split("\n").flatMap((line) => {
    const cells = line.split("|").map((cell) => cell.trim());
    const figure = figures.get(cells[1] ?? "");
    return figure === undefined ? [] : [["", ...cells.slice(1, -2), figure, ""].join(" | ").trim()];
  });
}
