import type { DatabaseSync } from "node:sqlite";

/** Giving free pages back to the disk. */
export interface Vacuum {
  /** A few, where many are free: else new rows use them. @returns whether there may be more to give */
  vacuum(): boolean;
}

/** Fewer free ones are left to what comes. */
const LEAST_FREE = { pages: 1_000, share: 0.1 };

/** In one step: each may be moved from the end of the file to its place. */
const PAGES = 64;

export function createVacuum(db: DatabaseSync): Vacuum {
  const free = db.prepare("PRAGMA freelist_count");
  const all = db.prepare("PRAGMA page_count");

  return {
    vacuum() {
      const pages = Number(free.get()?.["freelist_count"]);
      const isMany = pages > LEAST_FREE.pages && pages > LEAST_FREE.share * Number(all.get()?.["page_count"]);
      if (isMany) db.exec(`PRAGMA incremental_vacuum(${PAGES})`);
      return isMany;
    },
  };
}
