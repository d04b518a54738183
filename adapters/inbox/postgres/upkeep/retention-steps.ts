import { oneRow } from "../connection/one-row.ts";
import type { Pool } from "../connection/pool.ts";
import { foldEndedCounts } from "../schema/ended-counts.ts";
import { PAGE } from "../schema/day-partition-functions.ts";
import { trimSubscriptions } from "./subscriptions.ts";

/** Removing what has had its time, so little in a transaction that no other waits long. Times: milliseconds since the epoch. */
export interface RetentionSteps {
  serverNow(): Promise<number>;
  /** Jobs that were settled at a time or before it. */
  expire(source: "dead" | "unhandled", until: number): Promise<{ readonly count: number; readonly isMore: boolean }>;
  /** Natural keys that were seen last at a time or before it. @returns whether there may be more */
  removeKeys(until: number): Promise<boolean>;
  /** Of the deliveries that outlived their day, a page behind an id: those that nothing refers to any more. */
  removeKept(after: number): Promise<{ readonly after: number | null; readonly removed: number }>;
  /** Tombstones that were hit last at a time or before it. */
  removeTombstones(hitUntil: number): Promise<void>;
  removeSubscriptions(): Promise<void>;
  /** Counts of dead and unhandled jobs. */
  foldCounts(): Promise<void>;
  removeRemovals(): Promise<void>;
  removeWorkers(): Promise<void>;
  /** Under which nothing was committed: of stores that failed. */
  removeUnusedWriters(): Promise<void>;
  removeWriters(): Promise<void>;
}

const KEYS = 1_000;
const WRITERS = 10_000;

/** A scan over the open jobs: not in each pass, */
const WRITERS_EVERY_MS = 10 * 60_000;
/** unless there are many: each step of a worker reads all writers, and functions leave one for each process. */
const MANY_IDLE = 100;
/** Who finds its row gone makes another one. */
const IS_IDLE = "used_at < clock_timestamp() - interval '1 minute'";

export function createRetentionSteps(pool: Pool, ident: () => string): RetentionSteps {
  let writersAt = -Infinity;

  return {
    async serverNow() {
      const { now } = await oneRow<{ now: number }>(
        pool,
        "select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now",
      );
      return now;
    },
    async expire(source, until) {
      const { count } = await oneRow<{ count: number | null }>(pool, `select ${ident()}.expire($1, $2) as count`, [
        source,
        toStamp(until),
      ]);
      return { count: count ?? 0, isMore: count === PAGE };
    },
    async removeKeys(until) {
      // Skips what a store has locked, in another order: neither waits for the other.
      const rows = await pool.query(
        /* sql */ `delete from ${ident()}.dedupe where key = any (array(
           select key from ${ident()}.dedupe where seen_at <= $1 order by seen_at limit ${KEYS} for update skip locked)) returning 1`,
        [toStamp(until)],
      );
      return rows.length === KEYS;
    },
    async removeKept(after) {
      const { page } = await oneRow<{ page: { after: number | null; removed: number } | null }>(
        pool,
        `select ${ident()}.remove_kept($1) as page`,
        [after],
      );
      return page ?? { after: null, removed: 0 };
    },
    async removeTombstones(hitUntil) {
      await pool.query(
        /* sql */ `with gone as (delete from ${ident()}.tombstone where last_hit <= $1 returning 1)
         insert into ${ident()}.meta as m select 'tombstones', '1' where exists (select from gone)
         on conflict (key) do update set value = (m.value::bigint + 1)::text`,
        [toStamp(hitUntil)],
      );
    },
    async foldCounts() {
      await pool.query(foldEndedCounts(ident()));
    },
    removeSubscriptions: () => trimSubscriptions(pool, ident()),
    async removeRemovals() {
      // One that is missed nevertheless does no harm: the mark before a handler starts finds no row of a removed job.
      await pool.query(/* sql */ `delete from ${ident()}.removal where id = any (array(
           select id from ${ident()}.removal where at < clock_timestamp() - interval '1 hour' order by id limit 1000))`);
    },
    async removeWorkers() {
      await pool.query(
        `delete from ${ident()}.worker as w where not w.alive and not exists (select from ${ident()}.shard as s where s.owner = w.id)`,
      );
    },
    /** One whose row is locked stores just now. */
    async removeUnusedWriters() {
      await pool.query(/* sql */ `delete from ${ident()}.writer where id = any (array(
           select id from ${ident()}.writer where last_id = 0 and ${IS_IDLE}
           order by id limit ${WRITERS} for update skip locked))`);
    },
    /** With its row locked nothing more of it is committed; then none of its jobs is left that a worker could have to follow. */
    async removeWriters() {
      const { idle } = await oneRow<{ idle: number }>(
        pool,
        `select count(*) as idle from ${ident()}.writer where ${IS_IDLE}`,
      );
      if (idle < MANY_IDLE && performance.now() - writersAt < WRITERS_EVERY_MS) return;
      writersAt = performance.now();
      await pool.transaction(async (queries) => {
        // The scan comes before the first lock, and once: each row would be compared with all jobs where those do not fit into `work_mem`.
        const rows = await queries.query<{
          id: number;
        }>(/* sql */ `with used as materialized (select distinct writer from ${ident()}.job)
           select id from ${ident()}.writer where ${IS_IDLE} and id not in (select writer from used)
           order by id limit ${WRITERS} for update skip locked`);
        if (rows.length === 0) return;
        // What was committed until its row was locked.
        await queries.query(
          `delete from ${ident()}.writer where id = any ($1) and id not in (select distinct writer from ${ident()}.job where writer = any ($1))`,
          [rows.map(({ id }) => id)],
        );
      });
    },
  };
}

/** A time as the tables have it; what is kept for ever gives one that is infinitely long ago. */
function toStamp(time: number): number {
  return Math.max(0, Math.floor(time));
}
