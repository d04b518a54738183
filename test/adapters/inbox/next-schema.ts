import type { DatabaseSync } from "node:sqlite";
import { CURRENT, OLDEST_VERSION, type SchemaPlan } from "../../../adapters/inbox/sqlite/schema/tables.ts";

/** A version after the current one: it adds a column, a table and an index, and changes each delivery, which takes some time. */
export function nextSchema(step: (count: number) => void = () => {}): SchemaPlan {
  return {
    version: CURRENT.version + 1,
    tables: CURRENT.tables,
    conversions: [
      ...CURRENT.conversions,
      (db, alive) => {
        db.exec("ALTER TABLE job ADD COLUMN note TEXT; CREATE TABLE noted (id INTEGER PRIMARY KEY, job INTEGER)");
        for (const [count, id] of idsOf(db).entries()) {
          db.prepare("UPDATE delivery SET signed_by = signed_by || '!' WHERE id = ?").run(id);
          alive();
          step(count);
        }
        db.exec("CREATE INDEX noted_job ON noted (job)");
      },
    ],
  };
}

function idsOf(db: DatabaseSync): number[] {
  return db
    .prepare("SELECT id FROM delivery")
    .all()
    .map(({ id }) => Number(id));
}

/** The versions of which a file was released. */
export const RELEASED: readonly number[] = Array.from(
  { length: CURRENT.version - OLDEST_VERSION + 1 },
  (_, index) => OLDEST_VERSION + index,
);
