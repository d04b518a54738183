import type pg from "pg";
import { onTestFinished } from "vitest";

/**
 * Locks tables of the schema `hookline` against everything, until the test ends.
 * @returns what gives the locks back
 */
export async function lockTables(sql: pg.Pool, ...tables: readonly string[]): Promise<() => Promise<void>> {
  const holder = await sql.connect();
  let isHeld = true;
  const release = async (): Promise<void> => {
    if (!isHeld) return;
    isHeld = false;
    await holder.query("rollback");
    holder.release();
  };
  onTestFinished(release);
  await holder.query("begin");
  for (const table of tables) await holder.query(`lock table hookline.${table} in access exclusive mode`);
  return release;
}
