import type { Queries } from "../connection/pool.ts";
import { KEPT_DAY } from "../schema/tables.ts";
import type { Lanes, Row } from "./lanes.ts";
import type { WorkSteps } from "./work-steps.ts";

export interface OrphanDeps {
  readonly queries: Queries;
  readonly ident: () => string;
  readonly now: () => number;
  /** A job's delivery is not in the tables: the job is removed. */
  readonly orphaned: (row: Row) => void;
}

/** Of rows whose delivery a step did not find: those that have none end. A delivery may have moved to another partition just then. */
export async function endOrphans(
  { lanes, steps }: { readonly lanes: Pick<Lanes, "remove">; readonly steps: Pick<WorkSteps, "settle"> },
  rows: readonly Row[],
  { queries, ident, now, orphaned }: OrphanDeps,
): Promise<void> {
  const found = await queries.query<{ id: number }>(
    `select id from ${ident()}.delivery where day = any ($1::int[]) and id = any ($2::bigint[])`,
    [[KEPT_DAY, ...rows.map(({ day }) => day)], rows.map(({ delivery }) => delivery)],
  );
  const there = new Set(found.map(({ id }) => id));
  for (const row of rows.filter(({ delivery }) => !there.has(delivery))) {
    await steps.settle({ rows: [row], progress: undefined, window: undefined });
    lanes.remove(new Set([row.id]), now());
    orphaned(row);
  }
}
