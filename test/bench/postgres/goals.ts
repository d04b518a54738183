import { goalResultsOf, type Goal, type GoalResult } from "../goal-result.ts";
import type { PostgresRound } from "./rounds.ts";

interface PostgresGoal extends Goal {
  /** NaN where one of its sides was not measured. */
  readonly value: (of: (row: string, contender?: string, figure?: string) => number) => number;
}

const POSTGRES_GOALS: readonly PostgresGoal[] = [
  {
    says: "jobs stored/s through PostgreSQL, 4 processes / 1",
    value: (of) => of("postgres-store-4") / of("postgres-store-1"),
    least: 1.6,
  },
  ...[1, 2, 4].map((count) => ({
    says: `jobs stored/s through PostgreSQL by ${count} / pg-boss's batched insert`,
    value: (of: (row: string, contender?: string) => number) =>
      of(`postgres-store-${count}`) / of(`postgres-store-${count}`, "pg-boss"),
    least: 1.5,
  })),
  ...["5,000", "500,000"].flatMap((lanes) => {
    const row = `postgres-lanes-${lanes.replace(",", "")}`;
    const over = (contender: string) => (of: (row: string, contender?: string) => number) =>
      of(row) / of(row, contender);
    return [
      { says: `jobs/s, ${lanes} lanes / pg-boss key_strict_fifo`, value: over("pg-boss"), least: 8 },
      { says: `jobs/s, ${lanes} lanes / graphile-worker unordered`, value: over("graphile-worker"), least: 2 },
    ];
  }),
  {
    says: "jobs/s beside a snapshot open for 40 s / alone",
    value: (of) => of("postgres-snapshot") / of("postgres-lanes-5000"),
    least: 0.9,
  },
  {
    says: "stored to handler in another process, idle, p50 ms",
    value: (of) => of("postgres-idle", "hookline", "p50Ms"),
    most: 40,
  },
  {
    says: "stored to handler in another process, busy, p50 ms",
    value: (of) => of("postgres-busy", "hookline", "p50Ms"),
    most: 10,
  },
  {
    says: "cold p50 beside a hot lane in PostgreSQL / alone",
    value: (of) => of("postgres-cold-hot", "hookline", "p50Ms") / of("postgres-cold-alone", "hookline", "p50Ms"),
    most: 1.2,
  },
  {
    says: "job table and index after a million jobs, MB",
    value: (of) => of("postgres-size-first", "hookline", "mb"),
    most: 150,
  },
  {
    says: "the same after the second million / after the first",
    value: (of) => of("postgres-size-second", "hookline", "mb") / of("postgres-size-first", "hookline", "mb"),
    most: 1,
  },
];

/** Results of the goals whose rows are complete; each ratio is of one round. */
export function postgresGoalResultsOf(rounds: readonly PostgresRound[]): readonly GoalResult[] {
  return POSTGRES_GOALS.flatMap(({ value, ...goal }) =>
    goalResultsOf(
      goal,
      rounds.map((round) =>
        value(
          (row, contender = "hookline", figure = "perSecond") => round.get(row)?.get(contender)?.[figure] ?? Number.NaN,
        ),
      ),
    ),
  );
}
