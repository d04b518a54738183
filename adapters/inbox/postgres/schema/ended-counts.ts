const ENDED = ["dead", "unhandled"] as const;

const GROUP = "type, coalesce(consumer, ''), coalesce(error ->> 'name', '')";

/**
 * Version 2: counts of dead and unhandled jobs, kept by triggers: whatever adds or removes rows counts them. Each statement adds rows of its own,
 * so that none waits for another; upkeep folds them. The names of errors are in no index, which takes no text of more than 2.7 kB.
 */
export function endedCountsOf(ident: string): string {
  const trigger = (table: string, change: "insert" | "delete", sign: string): string => `
  create or replace function ${ident}.count_${table}_${change}() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
  begin
    insert into ${ident}.ended_count select '${table}', ${GROUP}, ${sign}count(*), max(settled_at) from changed group by 2, 3, 4;
    return null;
  end $$;
  revoke execute on function ${ident}.count_${table}_${change}() from public;
  create trigger count_${change} after ${change} on ${ident}.${table}
    referencing ${change === "insert" ? "new" : "old"} table as changed for each statement execute function ${ident}.count_${table}_${change}();`;
  return `
  create table ${ident}.ended_count (
    state text not null, type text not null, consumer text not null, error text not null, n bigint not null, newest_at bigint not null
  );
  create index on ${ident}.dead (type, consumer, md5(error ->> 'name'), id);
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

/** One row for each group again. Skips what another process folds. */
export function foldEndedCounts(ident: string): string {
  return `with gone as (delete from ${ident}.ended_count where ctid = any (array(
      select ctid from ${ident}.ended_count limit ${FOLDED} for update skip locked)) returning *)
    insert into ${ident}.ended_count select state, type, consumer, error, sum(n), max(newest_at) from gone group by 1, 2, 3, 4 having sum(n) <> 0`;
}
