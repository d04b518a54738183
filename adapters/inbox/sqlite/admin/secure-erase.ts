import type { DatabaseSync } from "node:sqlite";
import { cutWal } from "../disk/wal.ts";

/**
 * Overwrites what was erased: SQLite overwrites it in the file (`secure_delete`), but the log beside it keeps older pages until all of it is in
 * the file and it is cut off.
 */
export interface SecureErase {
  /** @returns whether it was done for this request; else it is tried behind this commit */
  want(request: number): boolean;
  /** Outside of any transaction. */
  afterCommit(): void;
}

/** How long it waits for others who read the log, milliseconds: deliveries wait meanwhile. */
const PATIENCE_MS = 100;

export function createSecureErase(db: DatabaseSync): SecureErase {
  let wanted: number | undefined;
  let done: number | undefined;

  return {
    want(request) {
      if (done === request) return true;
      wanted = request;
      return false;
    },
    afterCommit() {
      if (wanted === undefined) return;
      try {
        if (cutWal(db, PATIENCE_MS)) done = wanted;
      } catch {
        // What is wrong with the disk shows at the next commit; the request stays open.
      } finally {
        wanted = undefined;
      }
    },
  };
}
