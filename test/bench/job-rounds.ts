import type { Measure } from "./measures.ts";
import type { MeasureResult } from "./measures/send-result.ts";

export interface JobPlan {
  readonly measures: readonly Measure[];
  readonly rounds: number;
  readonly quick: boolean;
  readonly run: (file: string, sizes: readonly number[], inbox?: Measure["inbox"]) => Promise<MeasureResult>;
  readonly log: (line: string) => void;
}

/** The results of one round, by the measure's name. */
export type JobRound = ReadonlyMap<string, MeasureResult>;

export interface JobsMeasured {
  readonly rounds: readonly JobRound[];
  /** By the measure's name, why it has no figures. */
  readonly failures: ReadonlyMap<string, string>;
}

/** Runs all measures round by round, so that other load on the machine affects all of them. A failed one is left out. */
export async function measureJobs({ measures, rounds, quick, run, log }: JobPlan): Promise<JobsMeasured> {
  const measured: Map<string, MeasureResult>[] = [];
  const failures = new Map<string, string>();
  for (let round = 1; round <= rounds; round += 1) {
    log(`Jobs, round ${round} of ${rounds}.`);
    const results = new Map<string, MeasureResult>();
    measured.push(results);
    for (const { name, file, sizes, quickSizes, inbox, once } of measures) {
      if (failures.has(name) || (once === true && round > 1)) continue;
      try {
        results.set(name, await run(file, quick ? quickSizes : sizes, inbox));
      } catch (error) {
        failures.set(name, (error as Error).message);
        for (const one of measured) one.delete(name);
      }
    }
  }
  return { rounds: measured, failures };
}
