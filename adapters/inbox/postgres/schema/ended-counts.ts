const ENDED = ["dead", "unhandled"] as const;

const GROUP = "type, coalesce(consumer, ''), coalesce(error ->> 'name', '')";

/** Columns of an index. Neither a consumer nor the name of an error is in one as it is: an index takes no text of more than 2.7 kB. */
export const OF_GROUP = "(type, md5(consumer), md5(error ->> 'name'), id)";

/**
 * Version 2: counts of dead and unhandled jobs, kept by triggers: whatever adds or removes rows counts them. Each statement adds rows of its own,
 * so that none waits for another; upkeep folds them.
 */
export function endedCountsOf(ident: string): string {
  const trigger = (table: string, change: "insert" | "delete", sign: string): string => /* sql */ `
  create or replace function ${ident}.count_${table}_${change}() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
  begin
    insert into ${ident}.ended_count select '${table}', ${GROUP}, ${sign}count(*), max(settled_at) from changed group by 2, 3, 4;
    return null;
  end $$;
  revoke execute on function ${ident}.count_${table}_${change}() from public;
  create trigger count_${change} after ${change} on ${ident}.${table}
    referencing ${change === "insert" ? "new" : "old"} table as changed for each statement execute function ${ident}.count_${table}_${change}();`;
  return /* sql */ `
  create table ${ident}.ended_count (
    state text not null, type text not null, consumer text not null, error text not null, n bigint not null, newest_at bigint not null,
    id bigint generated always as identity primary key
  );
  create index dead_of_group on ${ident}.dead ${OF_GROUP};
  -- Jobs that failed before: those of blocked lanes. The others are in no other index.
  create index on ${ident}.job (run_at, id) where run_at > 0;
  create index on ${ident}.job (shard, md5(lane), id) where run_at > 0;
  ${ENDED.map((table) => trigger(table, "insert", "") + trigger(table, "delete", "-")).join("")}
  ${ENDED.map(
    (table) =>
      `insert into ${ident}.ended_count select '${table}', ${GROUP}, count(*), max(settled_at) from ${ident}.${table} group by 2, 3, 4;`,
  ).join("\n  ")}`;
}

/** Rows that one step folds: at most what dies within a minute. */
const FOLDED = 100_000;
/** So many are read, and folded, within a few milliseconds: who finds more folds so many of them. */
export const MOST_UNFOLDED = 5_000;

/** One row again for each group that has several. Skips what another process folds. */
export function foldEndedCounts(ident: string, most: number = FOLDED): string {
  return /* sql */ `with several as materialized (select state, type, consumer, error from ${ident}.ended_count group by 1, 2, 3, 4 having count(*) > 1 or sum(n) = 0),
    gone as (delete from ${ident}.ended_count where ctid = any (array(
      select c.ctid from ${ident}.ended_count as c join several using (state, type, consumer, error) limit ${most} for update of c skip locked)) returning *)
    insert into ${ident}.ended_count (state, type, consumer, error, n, newest_at) select state, type, consumer, error, sum(n), max(newest_at) from gone group by 1, 2, 3, 4 having sum(n) <> 0`;
}
