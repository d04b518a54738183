import type { QueueContender } from "./queue.ts";
import {
  measureBesideSnapshot,
  measureDrain,
  measureLatency,
  measureSize,
  measureStore,
  type QueueRig,
} from "./measures.ts";
import type { MeasureResult } from "../measures/send-result.ts";

/** One measurement, of the contenders that can do it. */
export interface PostgresRow {
  readonly name: string;
  readonly title: string;
  /** In a round of its own after all others: the size is of a table that nothing else has used. */
  readonly alone?: true;
  /** Which would be that of the next row: it gets a new server. */
  readonly leavesWork?: true;
  readonly contenders: readonly QueueContender["name"][];
  readonly measure: (rig: QueueRig, quick: boolean) => Promise<MeasureResult>;
}

const OURS = ["hookline"];
const ALL = [...OURS, "pg-boss", "graphile-worker", "bullmq"];
const MILLION = 1_000_000;
/** Of every contender, where a goal is a ratio of two. */
const JOBS = 60_000;
const QUICK_JOBS = 2_000;

const idle = { jobs: 200, pauseMs: 15 };
const cold = { jobs: 2_000, pauseMs: 1 };
const few = { jobs: 50, pauseMs: 5 };

/** In the order of a round and of the table. */
export const POSTGRES_ROWS: readonly PostgresRow[] = [
  ...[1, 2, 4].flatMap((processes) => {
    const by = `by ${processes} ${processes === 1 ? "process" : "processes"}`;
    const row = (makesJobs: boolean) => (rig: QueueRig, quick: boolean) =>
      measureStore(rig, processes, { ms: quick ? 200 : 3_000, makesJobs });
    const leavesWork = true as const;
    return [
      {
        name: `postgres-receive-${processes}`,
        title: `received/s ${by}`,
        contenders: OURS,
        leavesWork,
        measure: row(false),
      },
      {
        name: `postgres-store-${processes}`,
        title: `jobs stored/s ${by}`,
        contenders: ALL,
        leavesWork,
        measure: row(true),
      },
    ];
  }),
  drain("postgres-lanes-5000", "jobs/s, 5,000 lanes", 5_000, ALL),
  {
    name: "postgres-snapshot",
    title: "the same beside an open snapshot",
    contenders: OURS,
    measure: (rig, quick) => measureBesideSnapshot(rig, quick ? QUICK_JOBS : JOBS, quick ? 0 : 40_000),
  },
  drain("postgres-lanes-500000", "jobs/s, 500,000 lanes", 500_000, ALL),
  {
    name: "postgres-idle",
    title: "stored to handler, idle, ms",
    contenders: OURS,
    measure: (rig, quick) => measureLatency(rig, quick ? few : idle),
  },
  {
    name: "postgres-busy",
    title: "stored to handler, busy, ms",
    contenders: OURS,
    measure: (rig, quick) => measureLatency(rig, quick ? few : idle, { busy: quick ? 20_000 : 200_000 }),
  },
  {
    name: "postgres-cold-alone",
    title: "cold lanes alone, ms",
    contenders: OURS,
    measure: (rig, quick) => measureLatency(rig, quick ? few : cold),
  },
  {
    name: "postgres-cold-hot",
    title: "cold lanes beside a hot one, ms",
    contenders: OURS,
    measure: (rig, quick) => measureLatency(rig, quick ? few : cold, { hot: quick ? QUICK_JOBS : 100_000 }),
  },
  ...["first", "second"].map((which) => ({
    name: `postgres-size-${which}`,
    title: `MB of the job table after the ${which} million`,
    alone: true as const,
    contenders: OURS,
    measure: (rig: QueueRig, quick: boolean) => measureSize(rig, quick ? QUICK_JOBS : MILLION),
  })),
];

function drain(name: string, title: string, lanes: number, contenders: readonly string[]): PostgresRow {
  return {
    name,
    title,
    contenders,
    // A job in each of 500,000 lanes takes the others minutes: theirs are fewer, which is easier.
    measure: (rig, quick) => {
      const jobs = rig.contender.name === "hookline" ? Math.max(JOBS, lanes) : JOBS;
      return measureDrain(rig, quick ? QUICK_JOBS : jobs, quick ? lanes / 5 : lanes);
    },
  };
}
