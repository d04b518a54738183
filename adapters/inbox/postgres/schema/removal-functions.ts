import { ERASED_REASON } from "../../../../src/adapter.ts";
import { KEPT_DAY, PLANS, SHARDS } from "./tables.ts";

/**
 * The order in which locks are waited for, so that no two transactions wait for each other:
 *
 *     1. rows of delivery, by id: one stands for all lists of its jobs
 *     2. rows of unexpanded, by delivery
 *     3. the row `version` of meta: one removal at a time
 *     4. rows of shard, by id
 *     5. rows of worker, by id
 *     6. rows of job, dead and unhandled: these functions skip those that another transaction holds
 *
 * drop: 1, 3, 4, 5, 6. erase: 1 to 6. replay and reopen: 1, the row of their own writer, 6 (skipped when held).
 * `store`: its writer, shard (shared), 2, dedupe; then only inserts. `work`: one row of 5; then 6 and 4, skipped when held. Take-over: one row
 * of 5, then 6, then 4, skipped when held: who holds 6 waits for nothing any more. A transaction of the application: 4 (shared), 6.
 *
 * A worker's row is locked only inside one function, never over a round trip: while it is, that worker neither claims nor settles. Nor does it
 * help to register as a new worker then: shards are locked before, so that it gets none.
 * @param ident the quoted name of the schema
 */
export function removalFunctionsOf(ident: string): string {
  return [lockWorkers, markAbsent, sweepUnusedWindows, dropJobs, eraseDeliveries].map((body) => body(ident)).join("\n");
}

/** A lock is not waited for so long that a lease could end. */
const SETTINGS = `${PLANS} set lock_timeout = '1s'`;

/** No claim begins, and no shard changes hands, until the transaction ends. @returns the jobs that run */
function lockWorkers(ident: string): string {
  return /* sql */ `
create or replace function ${ident}.lock_workers() returns bigint[] language plpgsql ${SETTINGS} as $$
begin
  -- Ids of removals are to grow with their commits: workers remember the last one that they saw.
  perform 1 from ${ident}.meta where key = 'version' for no key update;
  perform 1 from ${ident}.shard order by id for share;
  perform 1 from ${ident}.worker where alive order by id for update;
  return array(select job from ${ident}.worker cross join unnest(running) as job where alive);
end $$;`;
}

/** The places of jobs in the lists that have them. \`gone\`: [id, delivery, day] of each; the caller holds the rows of the deliveries. */
function markAbsent(ident: string): string {
  return /* sql */ `
create or replace function ${ident}.mark_absent(gone jsonb) returns void language sql ${SETTINGS} as $$
  with given as (select (g->>0)::bigint as id, (g->>1)::bigint as delivery, (g->>2)::int as day from jsonb_array_elements(gone) as g),
  placed as (
    select given.*, later.first_job, later.day as list_day from given left join lateral (
      -- By the index: many replays leave many lists.
      select l.first_job, l.day from ${ident}.job_list as l
      where l.delivery = given.delivery and l.day in (given.day, ${KEPT_DAY}) and l.first_job <= given.id
      order by l.first_job desc limit 1) as later on true),
  later as (
    update ${ident}.job_list as l set absent = l.absent || of.places
    from (select list_day, first_job, array_agg((id - first_job)::int) as places from placed where first_job is not null group by 1, 2) as of
    where l.first_job = of.first_job and l.day = of.list_day)
  update ${ident}.delivery as d set absent = d.absent || of.places
  from (select delivery, day, array_agg((id - delivery - 1)::int) as places from placed where first_job is null group by 1, 2) as of
  where d.id = of.delivery and d.day in (of.day, ${KEPT_DAY});
$$;`;
}

/**
 * Forgets what lanes inherited of which nothing is left that had inherited it. It reads all open jobs once: after a removal, where it locks no worker.
 * One that is changed meanwhile stays.
 */
function sweepUnusedWindows(ident: string): string {
  return /* sql */ `
create or replace function ${ident}.sweep_unused_windows() returns void language plpgsql set enable_nestloop = off set jit = off set lock_timeout = '1s' as $$
begin
  if not exists (select from ${ident}.lane_window) then return; end if;
  with used as materialized (
    select distinct w.shard, w.key from ${ident}.lane_window as w join ${ident}.job as j on j.shard = w.shard and j.lane = w.lane and j.id <= w.up_to),
  unused as materialized (
    select w.shard, w.key, w.since, w.up_to from ${ident}.lane_window as w left join used on used.shard = w.shard and used.key = w.key where used.key is null)
  delete from ${ident}.lane_window as w using unused as u where w.shard = u.shard and w.key = u.key and w.since = u.since and w.up_to = u.up_to;
end $$;`;
}

/** Removes jobs that do not run. One that another transaction holds is being changed by it, and stays. Gives how many were removed. */
function dropJobs(ident: string): string {
  return /* sql */ `
create or replace function ${ident}.drop_jobs(ids bigint[], from_open boolean, from_dead boolean, from_unhandled boolean) returns int
language plpgsql ${SETTINGS} as $$
declare
  origins bigint[];
  opened jsonb;
  busy bigint[];
  gone jsonb := '[]';
  part jsonb;
begin
  select array_agg(distinct found.delivery), jsonb_agg(jsonb_build_array(found.shard, found.id)) filter (where found.shard is not null) into origins, opened
  from (
    select s.shard, j.id, j.delivery from generate_series(0, ${SHARDS - 1}) as s (shard)
    cross join lateral (select id, delivery from ${ident}.job where job.shard = s.shard and job.id = any (ids) offset 0) as j where from_open
    union all select null, id, delivery from ${ident}.dead where id = any (ids)
    union all select null, id, delivery from ${ident}.unhandled where id = any (ids)) as found;
  perform 1 from ${ident}.delivery where id = any (origins) order by id for no key update;

  if opened is not null then
    busy := ${ident}.lock_workers();
    with given as (select (o->>0)::smallint as shard, (o->>1)::bigint as id from jsonb_array_elements(opened) as o),
    mine as (select j.at from given cross join lateral (
      select ctid as at from ${ident}.job where job.shard = given.shard and job.id = given.id for update skip locked offset 0) as j where not given.id = any (busy)),
    removed as (delete from ${ident}.job using mine where job.ctid = mine.at returning job.id, job.delivery, job.day)
    select jsonb_agg(jsonb_build_array(id, delivery, day)) into part from removed;
    if part is not null then
      gone := part;
      insert into ${ident}.removal (jobs) select array_agg((g->>0)::bigint) from jsonb_array_elements(part) as g;
    end if;
  end if;
  ${["dead", "unhandled"]
    .map(
      (table) => `if from_${table} then
    with mine as (select id from ${ident}.${table} where id = any (ids) for update skip locked),
    removed as (delete from ${ident}.${table} as t using mine where t.id = mine.id returning t.id, t.delivery, t.day)
    select gone || coalesce(jsonb_agg(jsonb_build_array(id, delivery, day)), '[]') into gone from removed;
  end if;`,
    )
    .join("\n  ")}
  perform ${ident}.mark_absent(gone);
  return jsonb_array_length(gone);
end $$;`;
}

/**
 * Removes deliveries with all that was made of them, running jobs too. Gives \`count\` of unsettled jobs and unexpanded deliveries; \`held\`: those of
 * which another transaction, the application's, has a job; they stay as they are.
 */
function eraseDeliveries(ident: string): string {
  // `not in` hashes what is locked; `not exists` would compare each with each, as joins by hash are off.
  const ended = (table: string): string => /* sql */ `
    with seen as (
      select l.delivery, t.id from jsonb_to_recordset(lists) as l (delivery bigint, first bigint, last bigint)
      cross join lateral (select id from ${ident}.${table} where id between l.first and l.last and ${table}.delivery = l.delivery offset 0) as t),
    locked as (select t.id from seen cross join lateral (select id from ${ident}.${table} where id = seen.id for update skip locked offset 0) as t)
    select held || coalesce(array_agg(distinct seen.delivery) filter (where seen.id not in (select id from locked)), '{}'), coalesce(array_agg(seen.id), '{}')
    into held, ended_${table} from seen;`;
  const remove = (table: string): string => /* sql */ `
    with removed as (delete from ${ident}.${table} as t where t.id = any (ended_${table}) and not t.delivery = any (held) returning 1)
    select count_of + count(*) into count_of from removed;`;
  return /* sql */ `
create or replace function ${ident}.erase_deliveries(ids bigint[]) returns jsonb language plpgsql ${SETTINGS} as $$
declare
  lists jsonb;
  opened jsonb;
  ended_dead bigint[];
  ended_unhandled bigint[];
  held bigint[] := '{}';
  part jsonb;
  count_of int := 0;
  reasons int;
  deliveries int;
begin
  -- From here on nothing is made of them any more.
  perform 1 from ${ident}.delivery where id = any (ids) order by id for update;
  perform 1 from ${ident}.unexpanded where delivery = any (ids) order by delivery for update;
  select coalesce(jsonb_agg(jsonb_build_object('delivery', l.delivery, 'first', l.first, 'last', l.last)), '[]') into lists from (
    select id as delivery, id + 1 as first, id + ${ident}.list_length(jobs) as last from ${ident}.delivery where id = any (ids) and jobs is not null
    union all select delivery, first_job, first_job + ${ident}.list_length(jobs) - 1 from ${ident}.job_list where delivery = any (ids)) as l
  where l.last >= l.first;
  select jsonb_agg(jsonb_build_array(s.shard, j.id, l.delivery)) into opened from jsonb_to_recordset(lists) as l (delivery bigint, first bigint, last bigint)
  cross join generate_series(0, ${SHARDS - 1}) as s (shard)
  cross join lateral (select id from ${ident}.job where job.shard = s.shard and job.id between l.first and l.last and job.delivery = l.delivery offset 0) as j;

  if opened is not null then
    perform ${ident}.lock_workers();
    with given as (select (o->>0)::smallint as shard, (o->>1)::bigint as id, (o->>2)::bigint as delivery from jsonb_array_elements(opened) as o),
    locked as (select given.id from given cross join lateral (
      select 1 from ${ident}.job where job.shard = given.shard and job.id = given.id for update skip locked offset 0) as j)
    select coalesce(array_agg(distinct given.delivery), '{}') into held from given where given.id not in (select id from locked)
      and exists (select from ${ident}.job where job.shard = given.shard and job.id = given.id offset 0);
  end if;
  ${ended("dead")}
  ${ended("unhandled")}

  if opened is not null then
    with given as (select (o->>0)::smallint as shard, (o->>1)::bigint as id from jsonb_array_elements(opened) as o where not (o->>2)::bigint = any (held)),
    mine as (select j.at from given cross join lateral (
      select ctid as at from ${ident}.job where job.shard = given.shard and job.id = given.id offset 0) as j),
    removed as (delete from ${ident}.job using mine where job.ctid = mine.at returning job.id)
    select jsonb_agg(jsonb_build_array(id)) into part from removed;
    if part is not null then
      count_of := jsonb_array_length(part);
      insert into ${ident}.removal (jobs) select array_agg((g->>0)::bigint) from jsonb_array_elements(part) as g;
    end if;
  end if;
  ${remove("dead")}
  ${remove("unhandled")}
  with removed as (delete from ${ident}.unexpanded where delivery = any (ids) and not delivery = any (held) returning 1)
  select count_of + count(*) into count_of from removed;
  delete from ${ident}.job_list where delivery = any (ids) and not delivery = any (held);
  update ${ident}.tombstone set reason = '${ERASED_REASON}' where reason <> '${ERASED_REASON}'
    and subscription in (select subscription from ${ident}.delivery where id = any (ids));
  get diagnostics reasons = row_count;
  delete from ${ident}.delivery where id = any (ids) and not id = any (held);
  get diagnostics deliveries = row_count;
  return jsonb_build_object('count', count_of, 'held', to_jsonb(held), 'deliveries', deliveries, 'tombstones', reasons);
end $$;`;
}
