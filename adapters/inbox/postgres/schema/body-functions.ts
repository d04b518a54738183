import { BLOCK, PLANS, SHARDS } from "./tables.ts";

/** What stands for the headers of a delivery whose body was removed: all others have at least the signed ones. */
export const REMOVED = "'[]'::jsonb";

/**
 * Removes the bodies of these deliveries whose jobs are all done or skipped. Gives those that stay: `open`, because of a job that waits or runs, and
 * where another transaction has the row; `ended`, because of one that is dead or unhandled. Who makes a job of a delivery anew has its row locked:
 * the rows are locked before the look. The ids are close to each other, so that between the first and the last few jobs are of others.
 * @param ident the quoted name of the schema
 */
export function bodyFunctionsOf(ident: string): string {
  const ended = (table: string): string => `
    union all select r.delivery, false from ranges as r cross join lateral (
      select from ${ident}.${table} as o where o.id >= r.lo and o.id < r.hi and o.delivery = r.delivery limit 1) as found`;
  return /* sql */ `
create or replace function ${ident}.remove_bodies(ids bigint[]) returns jsonb language plpgsql ${PLANS} as $$
declare
  locked bigint[];
  held bigint[];
  opened bigint[];
  ended bigint[];
begin
  select coalesce(array_agg(id), '{}') into locked from (
    select id from ${ident}.delivery where id = any (ids) and headers <> ${REMOVED} order by id for update skip locked) as page;
  select coalesce(array_agg(id), '{}') into held from ${ident}.delivery
  where id = any (ids) and not id = any (locked) and headers <> ${REMOVED};
  -- All in one statement: what refers may go from one table to another between two.
  with ranges as materialized (
    select d.id as delivery, d.id + 1 as lo, d.id + 1 + ${ident}.list_length(d.jobs) as hi from ${ident}.delivery as d where d.id = any (locked)
    union all select l.delivery, l.first_job, l.first_job + ${ident}.list_length(l.jobs) from ${ident}.job_list as l where l.delivery = any (locked)),
  blocks as (select distinct lo / ${BLOCK} as block from ranges),
  needed as (
    select delivery, true as is_open from ${ident}.unexpanded where delivery = any (locked)
    union all select o.delivery, true from blocks as b cross join generate_series(0, ${SHARDS - 1}) as s (shard)
      cross join lateral (select delivery from ${ident}.job where job.shard = s.shard::smallint
        and job.id >= b.block * ${BLOCK} and job.id < (b.block + 1) * ${BLOCK} offset 0) as o
      where o.delivery = any (locked)${ended("dead")}${ended("unhandled")})
  select coalesce(array_agg(distinct delivery) filter (where is_open), '{}'), coalesce(array_agg(distinct delivery) filter (where not is_open), '{}')
  into opened, ended from needed;
  update ${ident}.delivery set headers = ${REMOVED}, body = '' where id = any (locked) and not id = any (opened || ended);
  return jsonb_build_object('open', to_jsonb(opened || held), 'ended', to_jsonb(ended));
end $$;`;
}
