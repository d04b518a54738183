import { toFigure, type Figure } from "./figures.ts";
import type { Paint } from "./format-columns.ts";

/** What a figure should reach. Its text is also the row's name in docs/benchmarks.md. */
export interface Goal {
  readonly says: string;
  readonly least?: number;
  readonly most?: number;
}

/** A goal with the measured figure. */
export interface GoalResult extends Goal {
  readonly figure: Figure;
  readonly reached: boolean;
}

/** @param values of the rounds; without any there is no result */
export function goalResultsOf({ says, ...bounds }: Goal, values: readonly number[]): readonly GoalResult[] {
  const known = values.filter((value) => !Number.isNaN(value));
  if (known.length === 0) return [];
  const figure = toFigure(known);
  const { least = -Infinity, most = Infinity } = bounds;
  return [{ says, ...bounds, figure, reached: figure.median >= least && figure.median <= most }];
}

/** A goal as a line of the output. */
export function toGoalLine({ says, figure, reached, ...bounds }: GoalResult, paint: Paint): string {
  const outcome = reached ? paint("green", "reached") : paint("yellow", "missed");
  return `${says}: ${toFigureText(figure)}, goal ${toBoundText(bounds)}: ${outcome}`;
}

/** The median, and the range if there is one. */
export function toFigureText({ median, min, max }: Figure): string {
  return min === max ? toText(median) : `${toText(median)} (${toText(min)}-${toText(max)})`;
}

/** What a figure should be. */
export function toBoundText({ least, most }: Pick<Goal, "least" | "most">): string {
  return least === undefined ? `at most ${toBound(most)}` : `at least ${toBound(least)}`;
}

function toBound(bound = Number.NaN): string {
  return bound.toLocaleString("en");
}

function toText(number: number): string {
  const digits = digitsOf(number);
  return number.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function digitsOf(number: number): number {
  if (number >= 100 || (number >= 10 && Number.isInteger(number))) return 0;
  return number >= 0.01 ? 2 : 4;
}
