/** A measurement of the working stage, in a child process and without sockets. */
export interface Measure {
  /** What `--only` takes. */
  readonly name: string;
  readonly title: string;
  /** In `measures/`. */
  readonly file: string;
  /** Its arguments. */
  readonly sizes: readonly number[];
  /** For a quick run. */
  readonly quickSizes: readonly number[];
  /** @default "memory" */
  readonly inbox?: "sqlite";
  /** The same in every round: one round is enough. */
  readonly once?: true;
}

const MILLION = 1_000_000;
const QUICK = 100_000;
/** `--only observers` takes all whose names begin so. */
export const OBSERVERS = "observers";

/** In the order of a round and of the tables. */
export const MEASURES: readonly Measure[] = [
  { name: "p-queue", title: "bare p-queue", file: "tasks.ts", sizes: [MILLION], quickSizes: [QUICK] },
  drain("lanes-1", "hookline, all jobs in 1 lane", () => 1),
  drain("lanes-5000", "hookline, 5,000 lanes", () => 5_000),
  drain("lanes-all", "hookline, each job a lane", (jobs) => jobs),
  {
    name: "changes",
    title: "hookline, merged by .changes",
    file: "changes.ts",
    sizes: [100_000],
    quickSizes: [100_000],
  },
  cold("cold-alone", "hookline, cold lanes alone", 0),
  cold("cold-hot", "hookline, beside a hot lane", 100_000),
  fairness("turns", "hookline, accounts take turns", 1),
  fairness("turns-none", 'hookline, fairness "none"', 0),
  waiting("waiting", "hookline, 100 entries a delivery", 100),
  waiting("waiting-single", "hookline, 1 entry a delivery", 1),
  { ...drain("file-5000", "SQLite, 5,000 lanes", () => 5_000), sizes: [200_000, 5_000], inbox: "sqlite" },
  { ...drain("file-all", "SQLite, each job a lane", (jobs) => jobs), sizes: [500_000, 500_000], inbox: "sqlite" },
  { ...cold("file-cold-alone", "SQLite, cold lanes alone", 0), inbox: "sqlite" },
  { ...cold("file-cold-hot", "SQLite, beside a hot lane", 100_000), inbox: "sqlite" },
  latency("file-idle", "SQLite, idle", 0),
  latency("file-idle-other", "SQLite, idle, another process", 1),
  {
    name: "file-unhandled",
    title: "SQLite, unhandled entries",
    file: "unhandled.ts",
    sizes: [1_000, 3],
    quickSizes: [1_000, 1],
    inbox: "sqlite",
  },
  {
    name: "file-start",
    title: "SQLite, start over a backlog",
    file: "start.ts",
    sizes: [MILLION],
    quickSizes: [QUICK],
    inbox: "sqlite",
    once: true,
  },
  ...[
    "none",
    "Prometheus",
    "OpenTelemetry without an SDK",
    "1 % sampled",
    "all sampled",
    "the SDK alone, 1 % sampled",
    "the SDK alone, all sampled",
  ].map(observers),
  ...["SQLite, forwarded to an app", "BullMQ, posted to an app by a worker"].map((title, kind) => ({
    name: kind === 0 ? "forward" : "forward-bullmq",
    title,
    file: "forward.ts",
    sizes: [10_000, kind],
    quickSizes: [3_000, kind],
    inbox: "sqlite" as const,
  })),
  {
    name: "file-dashboard",
    title: "SQLite, the dashboard over dead jobs",
    file: "dashboard.ts",
    sizes: [MILLION],
    quickSizes: [QUICK],
    inbox: "sqlite",
    once: true,
  },
  { name: "observers-text", title: "Prometheus", file: "metrics-text.ts", sizes: [1_000], quickSizes: [100] },
];

function observers(title: string, index: number): Measure {
  const name = index === 0 ? OBSERVERS : `${OBSERVERS}-${index}`;
  return { name, title, file: "observers.ts", sizes: [200_000, index], quickSizes: [20_000, index], inbox: "sqlite" };
}

function drain(name: string, title: string, lanesOf: (jobs: number) => number): Measure {
  const sizesFor = (jobs: number): readonly number[] => [jobs, lanesOf(jobs)];
  return { name, title, file: "drain.ts", sizes: sizesFor(MILLION), quickSizes: sizesFor(QUICK) };
}

function cold(name: string, title: string, hot: number): Measure {
  return { name, title, file: "cold.ts", sizes: [hot, 2_000], quickSizes: [hot, 1_000] };
}

function latency(name: string, title: string, others: number): Measure {
  return { name, title, file: "latency.ts", sizes: [300, others], quickSizes: [50, others], inbox: "sqlite" };
}

function fairness(name: string, title: string, isFair: number): Measure {
  return {
    name,
    title,
    file: "fairness.ts",
    sizes: [QUICK, 1_000, isFair],
    quickSizes: [10_000, 100, isFair],
    once: true,
  };
}

function waiting(name: string, title: string, entries: number): Measure {
  return { name, title, file: "waiting.ts", sizes: [MILLION, entries], quickSizes: [QUICK, entries], once: true };
}
