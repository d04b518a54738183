import { BLOCK, KEPT_DAY, PLANS, SHARDS } from "./tables.ts";
import { lockKey, PAGE } from "./day-partition-functions.ts";

/**
 * What removes jobs and what is left of days runs on the server: a lock is not held over a round trip.
 * @param ident the quoted name of the schema
 */
export function retentionFunctionsOf(ident: string): string {
  return [listLength, removeKept, expire].map((body) => body(ident)).join("\n");
}

/** How many ids a list of jobs may have: one that cannot be read, all of its block. */
function listLength(ident: string): string {
  return /* sql */ `
create or replace function ${ident}.list_length(jobs text) returns int language plpgsql immutable as $$
begin
  return coalesce(jsonb_array_length(jobs::jsonb), 0);
exception when data_exception or program_limit_exceeded then return ${BLOCK};
end $$;`;
}

/**
 * Removes what nothing refers to (any more) of a page of the deliveries that outlived their day. Gives the last id of the page, null at the
 * end, and how many went and stayed. Who refers to a delivery anew has its row locked for key share: the rows are locked before the look.
 */
function removeKept(ident: string): string {
  const made = (table: string): string => `
    union all select r.delivery from ranges as r cross join lateral (select from ${ident}.${table} as o where o.id >= r.lo and o.id < r.hi and o.delivery = r.delivery limit 1) as found`;
  // Jobs that were made with a delivery have the ids behind its own; later ones are in lists of their own.
  const ranges = `ranges as materialized (
      select d.id as delivery, d.id + 1 as lo, d.id + 1 + ${ident}.list_length(d.jobs) as hi from ${ident}.delivery as d
        where d.day = ${KEPT_DAY} and d.id = any (ids)
      union all select l.delivery, l.first_job, l.first_job + ${ident}.list_length(l.jobs) from ${ident}.job_list as l where l.delivery = any (ids))`;
  const settledOrUnexpanded = `
    select delivery from ${ident}.unexpanded where delivery = any (ids)${made("dead")}${made("unhandled")}`;
  return /* sql */ `
create or replace function ${ident}.remove_kept(after_id bigint) returns jsonb language plpgsql ${PLANS} as $$
declare
  ids bigint[];
  needed bigint[];
  page_size int;
  last_id bigint;
begin
  if not pg_try_advisory_xact_lock(${lockKey(ident, "upkeep")}) then return null; end if;
  select coalesce(array_agg(id), '{}'), max(id), count(*) into ids, last_id, page_size from (
    select id from ${ident}.delivery where day = ${KEPT_DAY} and id > after_id order by id limit ${PAGE} for update skip locked) as page;
  -- Cheap, and enough for most that stay.
  with ${ranges}
  select coalesce(array_agg(u.delivery), '{}') into needed from (${settledOrUnexpanded}) as u;
  ids := array(select one.id from unnest(ids) as one (id) where not one.id = any (needed));
  -- All in one statement: what refers may go from one table to another between two.
  with ${ranges}
  select coalesce(array_agg(u.delivery), '{}') into needed from (${settledOrUnexpanded}
    union all select r.delivery from ranges as r cross join generate_series(0, ${SHARDS - 1}) as s (shard)
      cross join lateral (select from ${ident}.job as o where o.shard = s.shard::smallint and o.id >= r.lo and o.id < r.hi and o.delivery = r.delivery limit 1) as found) as u;
  ids := array(select one.id from unnest(ids) as one (id) where not one.id = any (needed));
  delete from ${ident}.job_list where day = ${KEPT_DAY} and delivery = any (ids);
  delete from ${ident}.delivery where day = ${KEPT_DAY} and id = any (ids);
  return jsonb_build_object('after', last_id, 'removed', cardinality(ids), 'stayed', page_size - cardinality(ids));
end $$;`;
}

/** Removes a page of jobs that ended long ago. A job that is listed, and in no table, is done: their places in their lists are crossed out. */
function expire(ident: string): string {
  const remove = (table: string): string => /* sql */ `
    with old as (select id from ${ident}.${table} where settled_at <= until order by settled_at limit ${PAGE} for update skip locked),
    removed as (delete from ${ident}.${table} as t using old where t.id = old.id returning t.id, t.day, t.delivery)
    select coalesce(jsonb_agg(jsonb_build_object('i', id, 'y', day, 'd', delivery)), '[]') into gone from removed;`;
  return /* sql */ `
create or replace function ${ident}.expire(source text, until bigint) returns int language plpgsql ${PLANS} as $$
declare
  gone jsonb;
begin
  if not pg_try_advisory_xact_lock(${lockKey(ident, "upkeep")}) then return null; end if;
  if source = 'dead' then${remove("dead")}
  else${remove("unhandled")}
  end if;
  if jsonb_array_length(gone) = 0 then return 0; end if;
  with listed as (
    select g.i, g.y, g.d, (select max(l.first_job) from ${ident}.job_list as l where l.delivery = g.d and l.day in (g.y, ${KEPT_DAY}) and l.first_job <= g.i) as first
    from jsonb_to_recordset(gone) as g (i bigint, y int, d bigint)
  ),
  in_lists as (
    update ${ident}.job_list as l set absent = l.absent || p.places
    from (select first, array_agg(y) || ${KEPT_DAY} as days, array_agg((i - first)::int) as places from listed where first is not null group by first) as p
    where l.day = any (p.days) and l.first_job = p.first
  )
  update ${ident}.delivery as d set absent = d.absent || p.places
  from (select d as id, array_agg(y) || ${KEPT_DAY} as days, array_agg((i - d - 1)::int) as places from listed where first is null group by d) as p
  where d.day = any (p.days) and d.id = p.id;
  if source = 'dead' then
    insert into ${ident}.meta as m values ('expired', jsonb_array_length(gone)::text)
    on conflict (key) do update set value = (m.value::bigint + excluded.value::bigint)::text;
  end if;
  return jsonb_array_length(gone);
end $$;`;
}
