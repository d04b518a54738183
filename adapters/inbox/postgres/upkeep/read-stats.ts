import { oneRow } from "../connection/one-row.ts";
import type { Queries } from "../connection/pool.ts";
import { isUnpaused } from "./pauses.ts";
import { inLiteral, SHARDS } from "../schema/tables.ts";

/** Counts of all processes together. */
export interface SharedStats {
  readonly unexpanded: number;
  readonly waiting: number;
  readonly running: number;
  readonly dead: number;
  readonly unhandled: number;
  /** Dead jobs that were removed because of their age. */
  readonly expired: number;
  /** When the oldest delivery was received that is unexpanded or has a waiting job, milliseconds since the epoch. */
  readonly oldestWaitingAt: number | undefined;
  /** The last beat of each process that works, or was killed. */
  readonly beats: readonly (readonly [worker: number, beat: number])[];
}

interface Row extends Omit<SharedStats, "waiting" | "oldestWaitingAt"> {
  readonly open: number;
  readonly oldestJobAt: number | null;
  readonly oldestWaitingAt: number | null;
}

/** Up to here a count is exact. Beyond it is an estimate: the rows on an average page, of the last vacuum, times the pages there are now. */
export const EXACT = 10_000;

/** Of each shard so many are looked at for one that is not paused. */
const FIRST = 100;

/**
 * In one round trip, for a look every few seconds: a full count of a million rows is 0.1 s of the server's time. With more than 10,000 open
 * jobs, `oldestWaitingAt` is that of the lowest ids: the delivery of a replayed job may be older.
 * @param failed false: dead and unhandled jobs are not counted, but 0
 */
export async function readStats(queries: Queries, ident: string, failed = true): Promise<SharedStats> {
  const row = await oneRow<Row>(
    queries,
    /* sql */ `with marked as materialized (select job as id from ${ident}.worker as w cross join unnest(w.running) as job where w.alive),
     few as materialized (select id, received_at, account, consumer from ${ident}.job limit ${EXACT} + 1),
     jobs as (select count(*) as n, min(received_at) filter (where id not in (select id from marked) and ${isUnpaused(ident)}) as oldest from few as j)
     select (${countOf(ident, "unexpanded", "delivery")}) as unexpanded, (${failed ? countOf(ident, "dead", "id") : 0}) as dead, (${failed ? countOf(ident, "unhandled", "id") : 0}) as unhandled,
       case when n <= ${EXACT} then n else (${estimateOf(ident, "job")}) end as open,
       (select count(*) from marked) as running,
       case when n <= ${EXACT} then oldest else (
         select min(head.received_at) from generate_series(0, ${SHARDS - 1}) as s (shard) cross join lateral (
           select received_at from (select * from ${ident}.job where shard = s.shard::smallint and id not in (select id from marked) order by id limit ${FIRST}) as j
           where ${isUnpaused(ident)} order by j.id limit 1) as head) end as "oldestJobAt",
       (select received_at from ${ident}.unexpanded order by delivery limit 1) as "oldestWaitingAt",
       (select coalesce(jsonb_agg(jsonb_build_array(id, beat)), '[]') from ${ident}.worker where alive and handled is distinct from '{}') as beats,
       coalesce((select value::bigint from ${ident}.meta where key = 'expired'), 0) as expired
     from jobs`,
  );
  const oldest = [row.oldestJobAt, row.oldestWaitingAt].filter((one) => one !== null);
  return {
    unexpanded: row.unexpanded,
    // A mark outlives its job by a moment.
    waiting: Math.max(0, row.open - row.running),
    running: Math.min(row.running, row.open),
    dead: row.dead,
    unhandled: row.unhandled,
    expired: row.expired,
    oldestWaitingAt: oldest.length === 0 ? undefined : Math.min(...oldest),
    beats: row.beats,
  };
}

const countOf = (ident: string, table: string, key: string): string =>
  `select case when n <= ${EXACT} then n else (${estimateOf(ident, table)}) end from (select count(*) as n from (select ${key} from ${ident}.${table} limit ${EXACT} + 1) as few) as counted`;

/** As the planner does it. Without a vacuum yet, 50 rows a page. */
const estimateOf = (ident: string, table: string): string =>
  `select greatest(${EXACT} + 1, (case when c.relpages > 0 and c.reltuples > 0 then c.reltuples / c.relpages else 50 end * (pg_relation_size(c.oid) / current_setting('block_size')::int))::bigint) from pg_class as c where c.oid = '${inLiteral(ident)}.${table}'::regclass`;
