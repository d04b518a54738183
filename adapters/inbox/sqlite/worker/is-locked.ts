import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { CODE, primaryCode } from "../disk/result-codes.ts";

/**
 * Whether somebody holds an exclusive transaction on this file, as whoever works on an inbox does; undefined where that cannot be known.
 * SQLite keeps track of its own connections within a process: looking drops no lock that this one has.
 */
export function isLocked(path: string): boolean | undefined {
  let db: DatabaseSync | undefined;
  try {
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return false;
    db = new DatabaseSync(path, { readOnly: true, timeout: 0 });
    db.prepare("SELECT count(*) FROM sqlite_schema").get();
    return false;
  } catch (error) {
    return primaryCode(error) === CODE.busy ? true : undefined;
  } finally {
    db?.close();
  }
}
