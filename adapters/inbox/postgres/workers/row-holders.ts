import { StorageError } from "../../../../src/adapter.ts";
import { oneRow } from "../connection/one-row.ts";
import type { Queries } from "../connection/pool.ts";
import { SHARDS, stepLockOf, transactionLockOf } from "../schema/tables.ts";
import type { LiveWorker } from "./other-workers.ts";

/** Whose transaction keeps a dead worker's row, or those of its shards, from those that would take over from it. */
export interface RowHolders {
  /** Ends the sessions in which a step of this worker is under way, if its heart still stands there. @throws StorageError where they are another role's */
  endSteps(worker: Pick<LiveWorker, "id"> & { readonly beat: number }): Promise<void>;
  /** Ends the sessions in which the application completes jobs of this worker, if it is dead. @throws StorageError where they are another role's */
  endTransactions(worker: number): Promise<void>;
  /** Why a row is not free, and how many shards the worker has. @param refused why the session was not ended */
  find(worker: number, table: HeldTable, refused: unknown): Promise<Held>;
}

type HeldTable = "worker" | "shard";

interface Held {
  readonly shards: number;
  readonly cause: StorageError;
}

interface HeldRow {
  readonly shards: number;
  readonly pid: number | null;
  readonly name: string | null;
  /** Null where the session is another role's. */
  readonly state: string | null;
}

export function createRowHolders(queries: Queries, ident: () => string): RowHolders {
  const rowsOf = { worker: "id = $1", shard: "owner = $1" };
  const lockOf = { worker: stepLockOf, shard: transactionLockOf };
  const isLocked = (table: HeldTable): string => /* sql */ `(l.locktype = 'advisory' and l.objsubid = 1
    and l.database = (select oid from pg_database where datname = current_database())
    and (l.classid::bigint << 32) | l.objid::bigint = ${lockOf[table](ident(), "$1::bigint")})`;
  const end = (table: HeldTable): string =>
    `select pg_terminate_backend(l.pid) from pg_locks as l where ${isLocked(table)}`;

  return {
    async endSteps({ id, beat }) {
      await queries.query(
        `${end("worker")} and exists (select from ${ident()}.worker as w where w.id = $1 and w.alive and w.beat = $2)`,
        [id, beat],
      );
    },
    async endTransactions(worker) {
      // Who is dead remains so.
      await queries.query(
        `${end("shard")} and not exists (select from ${ident()}.worker as w where w.id = $1 and w.alive)`,
        [worker],
      );
    },
    async find(worker, table, refused) {
      // The row itself names no more than one session. Where several share it, those of the application are found by their lock.
      const { shards, pid, name, state } = await oneRow<HeldRow>(
        queries,
        /* sql */ `select (select count(*)::int from ${ident()}.shard where owner = $1 and id < ${SHARDS}) as shards, held.* from (values (1)) as one left join lateral (
         select a.pid, a.application_name as name, a.state || to_char(a.state_change at time zone 'UTC', '" since "YYYY-MM-DD"T"HH24:MI:SS"Z"') as state
         from pg_locks as l join pg_stat_activity as a on a.pid = l.pid where l.granted and (${isLocked(table)}
           or l.locktype = 'transactionid' and l.transactionid in (select xmax from ${ident()}.${table} where ${rowsOf[table]}))
         order by l.locktype = 'transactionid' desc, a.xact_start limit 1) as held on true`,
        [worker],
      );
      const where = `holds its row in the table ${ident()}.${table}`;
      const code = refused instanceof StorageError ? refused.code : "storage-failed";
      if (pid === null) {
        const text = `No process can take over from it: another session ${where}, or the log has why (inbox-failed).`;
        return { shards, cause: new StorageError(code, text, { cause: refused }) };
      }
      const isOthers = code === "permission-missing" || state === null;
      const mayNot = isOthers
        ? " The role of this process may not end that session: its own role may, or a superuser."
        : "";
      const text = `No process can take over from it: the session ${pid} (${name ?? ""}) ${where}${state === null ? "" : `, ${state}`}.${mayNot}`;
      const fix = `End that session: select pg_terminate_backend(${pid}).`;
      return { shards, cause: new StorageError(code, text, { cause: refused, fix }) };
    },
  };
}
