import type { Arguments } from "./arguments.ts";
import type { Paint } from "./format-columns.ts";
import { jobGoalResultsOf } from "./job-goals.ts";
import { measureJobs } from "./job-rounds.ts";
import { toJobTable } from "./job-table.ts";
import { MEASURES, OBSERVERS, type Measure } from "./measures.ts";
import { runMeasure } from "./run-measure.ts";

/** The chosen measures, with the bare task as their baseline. */
export function measuresOf(only: readonly string[] | undefined): readonly Measure[] {
  if (only === undefined) return MEASURES;
  const drained = MEASURES.filter(({ name, file }) => only.includes(name) && file === "drain.ts");
  const observed = only.includes(OBSERVERS) ? MEASURES.filter(({ name }) => name.startsWith(OBSERVERS)) : [];
  const names = new Set([...only, ...observed.map(({ name }) => name), ...(drained.length > 0 ? ["p-queue"] : [])]);
  return MEASURES.filter(({ name }) => names.has(name));
}

/** Measures the working stage, and prints the results. */
export async function benchJobs(
  measures: readonly Measure[],
  { rounds, quick }: Pick<Arguments, "rounds" | "quick">,
  { log, paint }: { readonly log: (line: string) => void; readonly paint: Paint },
) {
  const measured = await measureJobs({ measures, rounds, quick, run: runMeasure, log });
  const reached = jobGoalResultsOf(measured.rounds);
  console.log(`\n${toJobTable(measured, reached, paint)}`);
  return {
    rounds: measured.rounds.map((round) => Object.fromEntries(round)),
    failures: Object.fromEntries(measured.failures),
    reached,
  };
}
