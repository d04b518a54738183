import type { Arguments } from "../arguments.ts";
import { hasPeers } from "../external-tools.ts";
import type { Paint } from "../format-columns.ts";
import { postgresGoalResultsOf } from "./goals.ts";
import { whySkipped } from "./queue-server.ts";
import { QUEUES } from "./queue.ts";
import { measurePostgres } from "./rounds.ts";
import { POSTGRES_ROWS, type PostgresRow } from "./rows.ts";
import { toPostgresTable } from "./table.ts";

/** The chosen rows; none without a choice, since they take as long as all others. */
export function postgresRowsOf(only: readonly string[] | undefined): readonly PostgresRow[] {
  return POSTGRES_ROWS.filter(({ name }) => only?.includes(name));
}

/** Measures the PostgreSQL inbox beside other queues, and prints the results. */
export async function benchPostgres(
  rows: readonly PostgresRow[],
  { rounds, quick }: Pick<Arguments, "rounds" | "quick">,
  { log, paint }: { readonly log: (line: string) => void; readonly paint: Paint },
) {
  const skipped = new Map(
    QUEUES.flatMap((queue) => {
      const why = whySkipped(queue, hasPeers());
      return why === undefined ? [] : [[queue.name, why]];
    }),
  );
  const contenders = QUEUES.filter(({ name }) => !skipped.has(name));
  const measured = await measurePostgres({ rows, contenders, rounds: quick ? 1 : rounds, quick, log });
  const reached = postgresGoalResultsOf(measured.rounds);
  console.log(`\n${toPostgresTable(measured, reached, { paint, skipped })}`);
  return {
    rounds: measured.rounds.map((round) =>
      Object.fromEntries(Array.from(round, ([name, results]) => [name, Object.fromEntries(results)])),
    ),
    failures: Object.fromEntries(measured.failures),
    skipped: Object.fromEntries(skipped),
    reached,
  };
}
