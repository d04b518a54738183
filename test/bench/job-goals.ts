import { goalResultsOf, type Goal, type GoalResult } from "./goal-result.ts";
import type { JobRound } from "./job-rounds.ts";

/** A goal for the working stage. */
interface JobGoal extends Goal {
  /** The figure to compare, of one round, so that ratios are of values measured together. */
  readonly value: (of: (name: string, figure: string) => number) => number;
}

const LANES = ["lanes-1", "lanes-5000", "lanes-all"];

export const JOB_GOALS: readonly JobGoal[] = [
  {
    says: "jobs/s with 1, 5,000 and a million lanes, slowest / fastest",
    value: (of) => evenness(LANES.map((name) => of(name, "perSecond"))),
    least: 0.8,
  },
  {
    says: "CPU time of a job in as many lanes, least / most",
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
  { says: "jobs/s through a file, 5,000 lanes", value: (of) => of("file-5000", "perSecond"), least: 50_000 },
  { says: "jobs/s through a file, 500,000 lanes", value: (of) => of("file-all", "perSecond"), least: 45_000 },
  {
    says: "cold p50 beside a hot lane in a file / alone",
    value: (of) => of("file-cold-hot", "p50Ms") / of("file-cold-alone", "p50Ms"),
    most: 1.5,
  },
  { says: "cold p99 beside a hot lane in a file, ms", value: (of) => of("file-cold-hot", "p99Ms"), most: 10 },
  { says: "received to handler through a file, p50 ms", value: (of) => of("file-idle", "p50Ms"), most: 3 },
  { says: "received by another process to handler, p50 ms", value: (of) => of("file-idle-other", "p50Ms"), most: 30 },
  { says: "start over a million waiting in a file, ms", value: (of) => of("file-start", "ms"), most: 3_000 },
  { says: "longest stall of the event loop at this start, ms", value: (of) => of("file-start", "stallMs"), most: 50 },
  { says: "bytes of memory for a job that waits in a file", value: (of) => of("file-start", "bytes"), most: 400 },
  {
    says: "1,000 unhandled entries in a delivery, MB of file and log",
    value: (of) => of("file-unhandled", "mb"),
    most: 1,
  },
  {
    says: "1,000 unhandled entries, bytes for a job beside the delivery",
    value: (of) => of("file-unhandled", "bytesBeside"),
    most: 200,
  },
  {
    says: "1,000 unhandled entries, ms until stored and expanded",
    value: (of) => of("file-unhandled", "ms"),
    most: 30,
  },
  { says: "starts before a single job behind 100,000 lanes", value: (of) => of("turns", "starts"), most: 30 },
  { says: "least share of 1,000 accounts, of an equal one", value: (of) => of("turns", "share"), least: 0.8 },
  ...[
    ["metrics for Prometheus", 1],
    ["OpenTelemetry without an SDK", 1],
    ["1 % of the traces sampled", 3],
    ["all traces sampled", 25],
    ["the SDK alone, 1 % sampled", 3],
    ["the SDK alone, all sampled", 25],
  ].map(([title, most], index) => costOf(`observers-${index + 1}`, String(title), Number(most))),
  {
    says: "events/s forwarded / by BullMQ and a worker that posts",
    value: (of) => of("forward", "perSecond") / of("forward-bullmq", "perSecond"),
    least: 1,
  },
  { says: "first look at a million dead jobs, ms", value: (of) => of("file-dashboard", "firstMs"), most: 300 },
  { says: "each look after it, p99 ms", value: (of) => of("file-dashboard", "pollMs"), most: 20 },
  { says: "bytes of a look", value: (of) => of("file-dashboard", "bytes"), most: 30_000 },
  { says: "p99 of an answer with five viewers, ms more", value: (of) => of("file-dashboard", "addedMs"), most: 5 },
  { says: "the text of a scrape, ms", value: (of) => of("observers-text", "ms"), most: 2 },
  { says: "held by p-queue / concurrency", value: (of) => of("waiting", "heldOfConcurrency"), most: 2 },
];

/** By CPU time, all threads: other load on the machine changes it less than the rate. */
function costOf(name: string, title: string, most: number): JobGoal {
  return {
    says: `${title}: more CPU time for a delivery and its job, %`,
    value: (of) => (of(name, "cpuUs") / of("observers", "cpuUs") - 1) * 100,
    most,
  };
}

/** Results of the goals whose measures are complete. */
export function jobGoalResultsOf(rounds: readonly JobRound[]): readonly GoalResult[] {
  return JOB_GOALS.flatMap(({ value, ...goal }) =>
    goalResultsOf(
      goal,
      rounds.map((round) => value((name, figure) => round.get(name)?.[figure] ?? Number.NaN)),
    ),
  );
}

/** The smallest value as a share of the largest. */
function evenness(values: readonly number[]): number {
  return Math.min(...values) / Math.max(...values);
}
