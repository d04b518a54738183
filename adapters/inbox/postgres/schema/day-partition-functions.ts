import { BLOCK, inLiteral, KEPT_DAY, PLANS, SHARDS, TODAY } from "./tables.ts";

/** Deliveries that one step moves or looks at. */
export const PAGE = 500;
/** Days that are made before they begin. */
const DAYS_AHEAD = 2;
/** Open jobs that one step looks at. */
const SCAN = 5_000;
/** Bytes of bodies that one step moves; a delivery that alone is larger is moved all the same. */
const BYTES = 4 * 1024 * 1024;

/**
 * Each time an exclusive lock is waited for, everything that stores waits behind it: a reader that goes on for an hour, such as a backup,
 * must not stop stores for that long. Less than `deadlock_timeout` (1 s), so that of two that wait for each other it is upkeep that gives up.
 */
const LOCK_TIMEOUT = "500ms";

/**
 * Only the owner of a table makes and drops its partitions: these functions run as the owner, for a role that only changes rows. Nobody else
 * may call them, and no schema of theirs comes before the server's own.
 */
const AS_OWNER = "security definer set search_path = pg_catalog, pg_temp";
const ownersOnly = (signature: string): string => `revoke execute on function ${signature} from public;`;

/**
 * What makes, moves and drops the days of deliveries runs on the server: a lock is not held over a round trip.
 * @param ident the quoted name of the schema
 */
export function dayPartitionFunctionsOf(ident: string): string {
  return [ensureDays, barrier, moveToKept, keepPage, keepLate, dropDay].map((body) => body(ident)).join("\n");
}

/** Of an advisory lock that ends with the transaction: that also works behind a pooler. */
export const lockKey = (ident: string, of: "days" | "upkeep"): string =>
  `hashtextextended('hookline ${of} ${inLiteral(ident)}', 0)`;

function ensureDays(ident: string): string {
  const inFormat = inLiteral(ident).replaceAll("%", "%%");
  // Not to_regclass: its cache may not know yet what was made while this one waited for the lock.
  const absent = `not exists (select from pg_class where relname = parent || '_' || a_day and relnamespace = '${inLiteral(ident)}'::regnamespace)`;
  return /* sql */ `
create or replace function ${ident}.ensure_days() returns void language plpgsql ${AS_OWNER} set client_min_messages = warning as $$
declare
  today int := ${TODAY};
  missing record;
begin
  if not exists (select from generate_series(today, today + ${DAYS_AHEAD}) as a_day cross join unnest(array['delivery', 'job_list']) as parent where ${absent}) then return; end if;
  perform pg_advisory_xact_lock(${lockKey(ident, "days")});
  for missing in select * from generate_series(today, today + ${DAYS_AHEAD}) as a_day cross join unnest(array['delivery', 'job_list']) as parent where ${absent} loop
    -- Not "create table ... partition of": that locks out everything that stores. Attaching locks out other changes of the table alone.
    execute format('create table ${inFormat}.%I (like ${inFormat}.%I including all)', missing.parent || '_' || missing.a_day, missing.parent);
    execute format('alter table ${inFormat}.%I attach partition ${inFormat}.%I for values in (%s)', missing.parent, missing.parent || '_' || missing.a_day, missing.a_day);
  end loop;
end $$;
${ownersOnly(`${ident}.ensure_days()`)}`;
}

/**
 * Gives an id: what has a lower one is committed, or never will be, since each transaction that takes a block of ids has its writer's row
 * locked before. Null: a store took too long.
 */
function barrier(ident: string): string {
  return /* sql */ `
create or replace function ${ident}.barrier() returns bigint language plpgsql set lock_timeout = '${LOCK_TIMEOUT}' as $$
begin
  lock table ${ident}.writer in exclusive mode;
  return nextval('${inLiteral(ident)}.block') * ${BLOCK};
exception when lock_not_available then return null;
end $$;`;
}

/**
 * Moves some deliveries of a day with their lists. Gives whether some were left for the next call. By an update of the partition key, since
 * others that change the same row meanwhile then fail and try again: after a delete and an insert, one that erases would miss the row.
 */
function moveToKept(ident: string): string {
  return /* sql */ `
create or replace function ${ident}.move_to_kept(of_day int, ids bigint[]) returns boolean language plpgsql ${PLANS} as $$
declare
  few bigint[];
begin
  select coalesce(array_agg(d.id), '{}') into few from (
    select one.id, sum(octet_length(one.body)) over (order by one.id) - octet_length(one.body) as before from ${ident}.delivery as one
    where one.day = of_day and one.id = any (ids)) as d
  where d.before < ${BYTES};
  update ${ident}.delivery set day = ${KEPT_DAY} where day = of_day and id = any (few);
  -- The lists of their jobs go where this says. What is being expanded is waited for: its list comes into the old day, and is moved behind it.
  update ${ident}.unexpanded set day = ${KEPT_DAY} where day = of_day and delivery = any (few);
  update ${ident}.job_list set day = ${KEPT_DAY} where day = of_day and delivery = any (few);
  return exists (select from ${ident}.delivery where day = of_day and id = any (ids));
end $$;`;
}

/**
 * Moves the deliveries of a day that a page of one table refers to. Gives the place behind which the next page begins, and no place at the
 * end. Null: another process is at it. What refers goes from unexpanded to job to dead or unhandled: in this order none is missed.
 */
function keepPage(ident: string): string {
  const ended = (
    table: string,
  ): string => /* sql */ `select coalesce(array_agg(delivery), '{}'), max(delivery), count(*) into ids, last_id, seen
      from (select distinct delivery from ${ident}.${table} where day = of_day and delivery > after_id order by delivery limit ${PAGE}) as page;
    is_end := seen < ${PAGE};`;
  return /* sql */ `
create or replace function ${ident}.keep_page(of_day int, source text, after_shard int, after_id bigint) returns jsonb language plpgsql ${PLANS} as $$
declare
  ids bigint[];
  last_shard int := 0;
  last_id bigint;
  seen int;
  is_end boolean;
begin
  if not pg_try_advisory_xact_lock(${lockKey(ident, "upkeep")}) then return null; end if;
  if source = 'unexpanded' then
    select coalesce(array_agg(delivery) filter (where day = of_day), '{}'), max(delivery), count(*) into ids, last_id, seen
    from (select delivery, day from ${ident}.unexpanded where delivery > after_id order by delivery limit ${PAGE}) as page;
    is_end := seen < ${PAGE};
  elsif source = 'job' then
    with page as materialized (
      select shard, id, day, delivery from ${ident}.job where (shard, id) > (after_shard::smallint, after_id) order by shard, id limit ${SCAN})
    select coalesce(array_agg(distinct delivery) filter (where day = of_day), '{}'), max(shard), (select id from page order by shard desc, id desc limit 1), count(*)
    into ids, last_shard, last_id, seen from page;
    is_end := seen < ${SCAN};
  elsif source = 'dead' then
    ${ended("dead")}
  else
    ${ended("unhandled")}
  end if;
  if ${ident}.move_to_kept(of_day, ids) then return jsonb_build_object('shard', after_shard, 'id', after_id); end if;
  return case when is_end then '{}'::jsonb else jsonb_build_object('shard', last_shard, 'id', last_id) end;
end $$;`;
}

/** Deliveries of a day that something with an id of \`since\` or above refers to: at most a page and one. */
const late = (ident: string): string => `array(
    with referred as (
      select j.delivery from generate_series(0, ${SHARDS - 1}) as s (shard)
        cross join lateral (select delivery from ${ident}.job where job.shard = s.shard::smallint and job.id >= since and job.day = of_day offset 0) as j
      union select delivery from ${ident}.dead where id >= since and day = of_day
      union select delivery from ${ident}.unhandled where id >= since and day = of_day
      union select delivery from ${ident}.unexpanded where delivery >= since and day = of_day)
    select r.delivery from referred as r cross join lateral (select from ${ident}.delivery as d where d.day = of_day and d.id = r.delivery limit 1) as still limit ${PAGE} + 1)`;

/** Moves what came since an id, so that \`drop_day\` has little to look at. Gives whether there may be more. Null: another process is at it. */
function keepLate(ident: string): string {
  return /* sql */ `
create or replace function ${ident}.keep_late(of_day int, since bigint) returns boolean language plpgsql ${PLANS} as $$
declare
  few bigint[];
  is_left boolean;
begin
  if not pg_try_advisory_xact_lock(${lockKey(ident, "upkeep")}) then return null; end if;
  few := ${late(ident)};
  is_left := ${ident}.move_to_kept(of_day, few);
  return is_left or cardinality(few) > ${PAGE};
end $$;`;
}

/**
 * Drops a day whose referenced deliveries were moved after \`since\`, an id that \`barrier\` gave: what refers since then has a higher one.
 * 'busy': somebody reads, or stores for long. 'again': so much came that it is to be moved before.
 */
function dropDay(ident: string): string {
  const inFormat = inLiteral(ident).replaceAll("%", "%%");
  return /* sql */ `
create or replace function ${ident}.drop_day(of_day int, since bigint) returns text language plpgsql ${AS_OWNER} ${PLANS} set lock_timeout = '${LOCK_TIMEOUT}' set client_min_messages = warning as $$
declare
  few bigint[];
begin
  if not pg_try_advisory_xact_lock(${lockKey(ident, "upkeep")}) then return 'busy'; end if;
  lock table only ${ident}.delivery, only ${ident}.job_list in access exclusive mode;
  few := ${late(ident)};
  if cardinality(few) > ${PAGE} then return 'again'; end if;
  if ${ident}.move_to_kept(of_day, few) then return 'again'; end if;
  -- Of a replay that began before the delivery was moved.
  update ${ident}.job_list as l set day = ${KEPT_DAY} where l.day = of_day and l.first_job >= since
    and exists (select from ${ident}.delivery as d where d.day = ${KEPT_DAY} and d.id = l.delivery);
  execute format('drop table if exists ${inFormat}.%I, ${inFormat}.%I', 'delivery_' || of_day, 'job_list_' || of_day);
  return 'dropped';
exception when lock_not_available or deadlock_detected then return 'busy';
end $$;
${ownersOnly(`${ident}.drop_day(int, bigint)`)}`;
}
