import type { Queries } from "../connection/pool.ts";
import { stepLockOf } from "../schema/tables.ts";
import type { LiveWorker } from "./other-workers.ts";

/** Whose transaction keeps a dead worker's row from those that would take over from it. */
export interface RowHolders {
  /** Ends the sessions in which a step of this worker is under way, if its heart still stands there. @throws StorageError where they are another role's */
  endSteps(worker: Pick<LiveWorker, "id"> & { readonly beat: number }): Promise<void>;
}

export function createRowHolders(queries: Queries, ident: () => string): RowHolders {
  return {
    async endSteps({ id, beat }) {
      await queries.query(
        /* sql */ `select pg_terminate_backend(l.pid) from pg_locks as l where l.locktype = 'advisory' and l.objsubid = 1
           and l.database = (select oid from pg_database where datname = current_database())
           and (l.classid::bigint << 32) | l.objid::bigint = ${stepLockOf(ident(), "$1::bigint")}
           and exists (select from ${ident()}.worker as w where w.id = $1 and w.alive and w.beat = $2)`,
        [id, beat],
      );
    },
  };
}
