import { StorageError } from "../../../../src/adapter.ts";
import { oneRow } from "../connection/one-row.ts";
import type { Queries } from "../connection/pool.ts";
import { SHARDS, stepLockOf } from "../schema/tables.ts";
import type { LiveWorker } from "./other-workers.ts";

/** Whose transaction keeps a dead worker's row from those that would take over from it. */
export interface RowHolders {
  /** Ends the sessions in which a step of this worker is under way, if its heart still stands there. @throws StorageError where they are another role's */
  endSteps(worker: Pick<LiveWorker, "id"> & { readonly beat: number }): Promise<void>;
  /** Why its row is not free, and how many shards it has. */
  find(worker: number): Promise<{ readonly shards: number; readonly cause: StorageError }>;
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
    async find(worker) {
      const { shards, pid, name } = await oneRow<{ shards: number; pid: number | null; name: string | null }>(
        queries,
        /* sql */ `select (select count(*)::int from ${ident()}.shard where owner = $1 and id < ${SHARDS}) as shards, min(a.pid) as pid, min(a.application_name) as name
         from ${ident()}.worker as w join pg_locks as l on l.locktype = 'transactionid' and l.granted and l.transactionid = w.xmax
         join pg_stat_activity as a on a.pid = l.pid where w.id = $1`,
        [worker],
      );
      const table = `the table ${ident()}.worker`;
      const text =
        pid === null
          ? `No process can take over from it: another session holds its row in ${table}, or the log has why (inbox-failed).`
          : `No process can take over from it: the session ${pid} (${name ?? ""}) holds its row in ${table}.`;
      return { shards, cause: new StorageError("storage-failed", text) };
    },
  };
}
