import { toFigure, type Figure } from "./figures.ts";
import type { JobRound } from "./job-rounds.ts";

/** A goal for the working stage. */
interface JobGoal {
  readonly says: string;
  /** The figure to compare, of one round, so that ratios are of values measured together. */
  readonly value: (of: (name: string, figure: string) => number) => number;
  readonly least?: number;
  readonly most?: number;
}

const LANES = ["lanes-1", "lanes-5000", "lanes-all"];

const JOB_GOALS: readonly JobGoal[] = [
  {
    says: "jobs/s with 1, 5,000 and a million lanes, slowest / fastest",
    value: (of) => evenness(LANES.map((name) => of(name, "perSecond"))),
    least: 0.8,
  },
  {
    says: "the same by the CPU time of a job",
    value: (of) => evenness(LANES.map((name) => of(name, "cpuUs"))),
    least: 0.8,
  },
  {
    says: "cold p50 beside a hot lane / alone",
    value: (of) => of("cold-hot", "p50Ms") / of("cold-alone", "p50Ms"),
    most: 1.5,
  },
  {
    says: "cold p99 beside a hot lane / alone",
    value: (of) => of("cold-hot", "p99Ms") / of("cold-alone", "p99Ms"),
    most: 1.5,
  },
  { says: "cold p99 beside a hot lane, ms", value: (of) => of("cold-hot", "p99Ms"), most: 10 },
  {
    says: "calls for merged changes / their jobs",
    value: (of) => of("changes", "calls") / of("changes", "jobs"),
    most: 0.001,
  },
  { says: "bytes for a waiting job, without its body", value: (of) => of("waiting", "bytesBeside"), most: 600 },
  { says: "jobs/s through a file, 5,000 lanes", value: (of) => of("file-5000", "perSecond"), least: 40_000 },
  { says: "jobs/s through a file, 500,000 lanes", value: (of) => of("file-all", "perSecond"), least: 40_000 },
  {
    says: "cold p50 beside a hot lane in a file / alone",
    value: (of) => of("file-cold-hot", "p50Ms") / of("file-cold-alone", "p50Ms"),
    most: 1.5,
  },
  { says: "cold p99 beside a hot lane in a file, ms", value: (of) => of("file-cold-hot", "p99Ms"), most: 10 },
  { says: "received to handler through a file, p50 ms", value: (of) => of("file-idle", "p50Ms"), most: 3 },
  { says: "the same from another process, p50 ms", value: (of) => of("file-idle-other", "p50Ms"), most: 30 },
  { says: "start over a million in a file, ms", value: (of) => of("file-start", "ms"), most: 3_000 },
  { says: "the event loop's longest stall meanwhile, ms", value: (of) => of("file-start", "stallMs"), most: 50 },
  { says: "bytes for a job that waits in a file", value: (of) => of("file-start", "bytes"), most: 600 },
  { says: "held by p-queue / concurrency", value: (of) => of("waiting", "heldOfConcurrency"), most: 2 },
];

/** A goal with the measured figure. */
export interface JobGoalResult extends Omit<JobGoal, "value"> {
  readonly figure: Figure;
  readonly reached: boolean;
}

/** Results of the goals whose measures are complete. */
export function jobGoalResultsOf(rounds: readonly JobRound[]): readonly JobGoalResult[] {
  return JOB_GOALS.flatMap(({ value, ...goal }) => {
    const values = rounds
      .map((round) => value((name, figure) => round.get(name)?.[figure] ?? Number.NaN))
      .filter((one) => !Number.isNaN(one));
    if (values.length === 0) return [];
    const figure = toFigure(values);
    const { least = -Infinity, most = Infinity } = goal;
    return [{ ...goal, figure, reached: figure.median >= least && figure.median <= most }];
  });
}

/** The smallest value as a share of the largest. */
function evenness(values: readonly number[]): number {
  return Math.min(...values) / Math.max(...values);
}
