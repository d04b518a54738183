import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Paint } from "../format-columns.ts";
import type { Cores } from "../machine.ts";
import { createScripts } from "../requests.ts";
import { durableGoalResultsOf } from "./goals.ts";
import { measureRow, type RowMeasured } from "./measure-row.ts";
import { DURABLE, PEERS, type DurableRow } from "./rows.ts";
import { toDurableTable } from "./table.ts";

/** The chosen rows; without a choice none of the peers. Verify only is measured beside each. */
export function durableRowsOf(only: readonly string[] | undefined): readonly DurableRow[] {
  return only === undefined ? DURABLE : [...DURABLE, ...PEERS].filter(({ name }) => only.includes(name));
}

/** Measures what stores on disk, row by row, and prints the results. */
export async function benchDurable(
  rows: readonly DurableRow[],
  {
    quick,
    cores,
    log,
    paint,
  }: {
    readonly quick: boolean;
    readonly cores: Cores | undefined;
    readonly log: (line: string) => void;
    readonly paint: Paint;
  },
) {
  const folder = mkdtempSync(join(tmpdir(), "hookline-bench-"));
  const scriptOf = createScripts(folder);
  const measured = new Map<string, RowMeasured>();
  const failures = new Map<string, string>();
  try {
    for (const row of rows) {
      log(`${row.title}.`);
      try {
        measured.set(row.name, await measureRow(row, { quick, cores, scriptOf }));
      } catch (error) {
        failures.set(row.name, (error as Error).message);
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  const reached = durableGoalResultsOf(measured);
  console.log(`\n${toDurableTable({ rows, measured, failures, reached }, paint)}`);
  return { rows: Object.fromEntries(measured), failures: Object.fromEntries(failures), reached };
}
