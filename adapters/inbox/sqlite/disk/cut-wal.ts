import type { DatabaseSync } from "node:sqlite";

/**
 * Writes all of the write-ahead log into the file and cuts it off. Outside of any transaction.
 * @param patienceMs for how long others who read the log may hold that up; commits wait meanwhile
 * @returns whether it is cut off
 */
export function cutWal(db: Pick<DatabaseSync, "exec" | "prepare">, patienceMs: number): boolean {
  const usual = Number(db.prepare("PRAGMA busy_timeout").get()?.["timeout"]);
  db.exec(`PRAGMA busy_timeout = ${patienceMs}`);
  try {
    return db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.["busy"] === 0;
  } finally {
    db.exec(`PRAGMA busy_timeout = ${usual}`);
  }
}
