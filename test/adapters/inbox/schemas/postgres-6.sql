-- Run it as the role of the application, which owns the tables then; or add --role for one that only changes rows.
-- A lock timeout: others hold locks on the tables, such as pg_dump, and nothing is changed. Run it again.
do $hookline_migration$
declare
  made int;
begin
set local lock_timeout = '500ms';
perform pg_advisory_xact_lock(hashtextextended('hookline schema hookline', 0));
if not exists (select from pg_catalog.pg_namespace where nspname = 'hookline') then
create schema "hookline";
end if;
if to_regclass('"hookline".meta') is null then

  create table "hookline".meta (key text primary key, value text not null);

  -- Of deliveries and jobs. Cache 1: ids that a process has in stock would break the order between processes.
  create sequence "hookline".block cache 1;

  -- A process that stores. Its commits are serial, so that (id, last_id) of all rows is an exact cut. seq counts them.
  create table "hookline".writer (
    id bigint generated always as identity primary key, seq bigint not null default 0, first_id bigint not null default 0,
    last_id bigint not null default 0, used_at timestamptz not null default clock_timestamp()
  ) with (fillfactor = 20);

  -- A process that works: beat is its heartbeat, alive its fence. running: the jobs whose handlers may run; since: their first attempts.
  -- Both in the row as long as they fit, so that a heartbeat changes no other table. handled: lists of types by consumer; out of line, since each
  -- heartbeat writes the row anew. present: it holds an advisory lock, so that one that is free says that its process is gone.
  create table "hookline".worker (
    id bigint generated always as identity primary key, beat bigint not null default 0, alive boolean not null default true,
    running bigint[] not null default '{}', since bigint[] not null default '{}', handled jsonb,
    present boolean not null default false
  ) with (fillfactor = 20, toast_tuple_target = 128);
  alter table "hookline".worker alter column running set storage main, alter column since set storage main, alter column handled set storage external;

  -- refused: workers that lack a handler for something in it, and leave it to others while one lives.
  create table "hookline".shard (id smallint primary key, owner bigint, refused bigint[] not null default '{}') with (fillfactor = 20);
  insert into "hookline".shard select generate_series(0, 64);

  -- What was received, byte for byte. jobs: the list of the jobs that were made with it, with ids from its own + 1 on; absent: places of that list
  -- whose job does not exist (any more). A job that is listed, not absent, and in none of job, dead and unhandled, is done (skipped without a
  -- consumer). day: of the server's clock, or 0.
  create table "hookline".delivery (
    day int not null, id bigint not null, received_at bigint not null, sent_at bigint not null, source text, signed_by text not null,
    signature text not null, headers jsonb not null, account bigint, subscription bigint, jobs text, absent int[] not null default '{}',
    body bytea not null, primary key (id, day)
  ) partition by list (day);
  create index on "hookline".delivery (account, id);

  -- Lists of jobs that were made later than their delivery: when it was expanded, or replayed.
  create table "hookline".job_list (
    day int not null, first_job bigint not null, delivery bigint not null, account bigint, subscription bigint, jobs text not null,
    absent int[] not null default '{}', primary key (first_job, day)
  ) partition by list (day);
  create index on "hookline".job_list (delivery, first_job);
  create index on "hookline".job_list (account, first_job);

  create table "hookline".delivery_kept partition of "hookline".delivery for values in (0);
  create table "hookline".job_list_kept partition of "hookline".job_list for values in (0);

  -- Deliveries with entries that are not jobs yet. cursor: the entry to go on with.
  create table "hookline".unexpanded (delivery bigint primary key, day int not null, cursor int not null, received_at bigint not null);

  -- Open jobs. One index: lanes are in the memory of the process that owns the shard.
  create table "hookline".job (
    shard smallint not null, id bigint not null, writer bigint not null, day int not null, delivery bigint not null, entry int not null,
    type text not null, consumer text not null, lane text, merge_key text, account bigint, subscription bigint, received_at bigint not null,
    replay_of bigint, attempts int not null default 0, deaths int not null default 0, group_max int, first_attempt_at bigint,
    run_at bigint not null default 0, delay_ms bigint not null default 0, error jsonb, primary key (shard, id)
  ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);

  -- What a lane has inherited: when the first attempt was of a job that died of its window, for those up to an id that waited behind it.
  -- key: the hash of the lane, since an index takes no text of more than 2.7 kB.
  create table "hookline".lane_window (
    shard smallint not null, lane text not null, since bigint not null, up_to bigint not null, key text not null, primary key (shard, key)
  );
  
  create table "hookline".dead (
    id bigint primary key, day int not null, delivery bigint not null, entry int not null, type text not null, consumer text,
    account bigint, subscription bigint, received_at bigint not null, replay_of bigint, attempts int not null, error jsonb,
    settled_at bigint not null
  );
  create index on "hookline".dead (type, id);
  create index on "hookline".dead (account, id);
  create index on "hookline".dead (settled_at);
  create index on "hookline".dead (day, delivery);
  
  create table "hookline".unhandled (
    id bigint primary key, day int not null, delivery bigint not null, entry int not null, type text not null, consumer text,
    account bigint, subscription bigint, received_at bigint not null, replay_of bigint, attempts int not null, error jsonb,
    settled_at bigint not null
  );
  create index on "hookline".unhandled (type, id);
  create index on "hookline".unhandled (account, id);
  create index on "hookline".unhandled (settled_at);
  create index on "hookline".unhandled (day, delivery);
  
  create table "hookline".ended_count (
    state text not null, type text not null, consumer text not null, error text not null, n bigint not null, newest_at bigint not null,
    id bigint generated always as identity primary key
  );
  create index dead_of_group on "hookline".dead (type, md5(consumer), md5(error ->> 'name'), id);
  -- Jobs that failed before: those of blocked lanes. The others are in no other index.
  create index on "hookline".job (run_at, id) where run_at > 0;
  create index on "hookline".job (shard, md5(lane), id) where run_at > 0;
  
  create or replace function "hookline".count_dead_insert() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
  begin
    insert into "hookline".ended_count select 'dead', type, coalesce(consumer, ''), coalesce(error ->> 'name', ''), count(*), max(settled_at) from changed group by 2, 3, 4;
    return null;
  end $$;
  revoke execute on function "hookline".count_dead_insert() from public;
  create trigger count_insert after insert on "hookline".dead
    referencing new table as changed for each statement execute function "hookline".count_dead_insert();
  create or replace function "hookline".count_dead_delete() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
  begin
    insert into "hookline".ended_count select 'dead', type, coalesce(consumer, ''), coalesce(error ->> 'name', ''), -count(*), max(settled_at) from changed group by 2, 3, 4;
    return null;
  end $$;
  revoke execute on function "hookline".count_dead_delete() from public;
  create trigger count_delete after delete on "hookline".dead
    referencing old table as changed for each statement execute function "hookline".count_dead_delete();
  create or replace function "hookline".count_unhandled_insert() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
  begin
    insert into "hookline".ended_count select 'unhandled', type, coalesce(consumer, ''), coalesce(error ->> 'name', ''), count(*), max(settled_at) from changed group by 2, 3, 4;
    return null;
  end $$;
  revoke execute on function "hookline".count_unhandled_insert() from public;
  create trigger count_insert after insert on "hookline".unhandled
    referencing new table as changed for each statement execute function "hookline".count_unhandled_insert();
  create or replace function "hookline".count_unhandled_delete() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
  begin
    insert into "hookline".ended_count select 'unhandled', type, coalesce(consumer, ''), coalesce(error ->> 'name', ''), -count(*), max(settled_at) from changed group by 2, 3, 4;
    return null;
  end $$;
  revoke execute on function "hookline".count_unhandled_delete() from public;
  create trigger count_delete after delete on "hookline".unhandled
    referencing old table as changed for each statement execute function "hookline".count_unhandled_delete();
  insert into "hookline".ended_count select 'dead', type, coalesce(consumer, ''), coalesce(error ->> 'name', ''), count(*), max(settled_at) from "hookline".dead group by 2, 3, 4;
  insert into "hookline".ended_count select 'unhandled', type, coalesce(consumer, ''), coalesce(error ->> 'name', ''), count(*), max(settled_at) from "hookline".unhandled group by 2, 3, 4;

  -- Natural keys of tracking and booking, hashed to 16 bytes.
  create table "hookline".dedupe (key bytea primary key, seen_at bigint not null);
  create index on "hookline".dedupe (seen_at);

  -- source '' with any_source: for every source.
  create table "hookline".tombstone (
    subscription bigint not null, source text not null, any_source boolean not null, reason text not null, since bigint not null,
    last_hit bigint not null, primary key (subscription, any_source, source)
  );

  -- What the newest lifecycle notice said of each resource of a subscription; error: null where it works.
  create table "hookline".subscription (
    seq bigint generated always as identity, key text primary key, subscription bigint not null, account bigint not null,
    resource text not null, source text, error text, sent_at bigint not null
  );

  -- What subscriptions delivered, and where something of it may be missing: a gap goes from from_at, null where there is none, until until_at, null
  -- where it goes on. seen_at: of the last delivery. told_at: of the last error or its end. The last mark of a process that was alive is in meta.
  -- key: a hash of the account, source, subscription and resource.
  create table "hookline".subscribed_resource (
    account bigint not null, key text collate "C" not null, source text, subscription bigint not null, resource text not null,
    family text not null, seen_at bigint not null, told_at bigint not null default 0, cause text, from_at bigint, until_at bigint,
    primary key (account, key)
  );
  create index on "hookline".subscribed_resource (subscription);
  create index on "hookline".subscribed_resource (seen_at) where from_at is null;
  create index on "hookline".subscribed_resource (account, key) where from_at is not null;

  -- Jobs that were removed by hand: the owners of their shards take them out of their memory. Kept for an hour.
  create table "hookline".removal (id bigint generated always as identity primary key, jobs bigint[] not null, at timestamptz not null default clock_timestamp());

  create table if not exists "hookline".pause (key text primary key, value text not null, account bigint, consumer text, until_at bigint);

  
  create table if not exists "hookline".key_value (key text primary key, account bigint, value text not null);
  create index if not exists key_value_account on "hookline".key_value (account) where account is not null;

  insert into "hookline".meta values ('version', '6');

insert into "hookline".meta values ('name', 'default');
else
made := (select value::int from "hookline".meta where key = 'version');
if made < 2 then

  perform 1 from "hookline".meta where key = 'version' for update;
  alter table "hookline".lane_window add column key text not null generated always as (md5(lane)) stored, drop constraint lane_window_pkey, add primary key (shard, key);
  
  create table "hookline".ended_count (
    state text not null, type text not null, consumer text not null, error text not null, n bigint not null, newest_at bigint not null,
    id bigint generated always as identity primary key
  );
  create index dead_of_group on "hookline".dead (type, md5(consumer), md5(error ->> 'name'), id);
  -- Jobs that failed before: those of blocked lanes. The others are in no other index.
  create index on "hookline".job (run_at, id) where run_at > 0;
  create index on "hookline".job (shard, md5(lane), id) where run_at > 0;
  
  create or replace function "hookline".count_dead_insert() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
  begin
    insert into "hookline".ended_count select 'dead', type, coalesce(consumer, ''), coalesce(error ->> 'name', ''), count(*), max(settled_at) from changed group by 2, 3, 4;
    return null;
  end $$;
  revoke execute on function "hookline".count_dead_insert() from public;
  create trigger count_insert after insert on "hookline".dead
    referencing new table as changed for each statement execute function "hookline".count_dead_insert();
  create or replace function "hookline".count_dead_delete() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
  begin
    insert into "hookline".ended_count select 'dead', type, coalesce(consumer, ''), coalesce(error ->> 'name', ''), -count(*), max(settled_at) from changed group by 2, 3, 4;
    return null;
  end $$;
  revoke execute on function "hookline".count_dead_delete() from public;
  create trigger count_delete after delete on "hookline".dead
    referencing old table as changed for each statement execute function "hookline".count_dead_delete();
  create or replace function "hookline".count_unhandled_insert() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
  begin
    insert into "hookline".ended_count select 'unhandled', type, coalesce(consumer, ''), coalesce(error ->> 'name', ''), count(*), max(settled_at) from changed group by 2, 3, 4;
    return null;
  end $$;
  revoke execute on function "hookline".count_unhandled_insert() from public;
  create trigger count_insert after insert on "hookline".unhandled
    referencing new table as changed for each statement execute function "hookline".count_unhandled_insert();
  create or replace function "hookline".count_unhandled_delete() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
  begin
    insert into "hookline".ended_count select 'unhandled', type, coalesce(consumer, ''), coalesce(error ->> 'name', ''), -count(*), max(settled_at) from changed group by 2, 3, 4;
    return null;
  end $$;
  revoke execute on function "hookline".count_unhandled_delete() from public;
  create trigger count_delete after delete on "hookline".unhandled
    referencing old table as changed for each statement execute function "hookline".count_unhandled_delete();
  insert into "hookline".ended_count select 'dead', type, coalesce(consumer, ''), coalesce(error ->> 'name', ''), count(*), max(settled_at) from "hookline".dead group by 2, 3, 4;
  insert into "hookline".ended_count select 'unhandled', type, coalesce(consumer, ''), coalesce(error ->> 'name', ''), count(*), max(settled_at) from "hookline".unhandled group by 2, 3, 4;
end if;
if made < 3 then

  perform 1 from "hookline".meta where key = 'version' for update;
  alter table "hookline".lane_window alter column key drop expression if exists;
  if not exists (select from pg_constraint where conrelid = '"hookline".ended_count'::regclass and contype = 'p') then
    alter table "hookline".ended_count add column id bigint generated always as identity primary key;
  end if;
  drop index if exists "hookline".dead_type_consumer_md5_id_idx;
  create index if not exists dead_of_group on "hookline".dead (type, md5(consumer), md5(error ->> 'name'), id);
  create table if not exists "hookline".pause (key text primary key, value text not null, account bigint, consumer text, until_at bigint);
  
  create table if not exists "hookline".key_value (key text primary key, account bigint, value text not null);
  create index if not exists key_value_account on "hookline".key_value (account) where account is not null;
end if;
if made < 4 then
null;
end if;
if made < 5 then
null;
end if;
if made < 6 then
drop function if exists "hookline".sweep_windows(jsonb);
end if;
end if;
if made is null or made < 6 then

create or replace function "hookline".heir(me bigint, for_consumer text, of_type text) returns bigint language sql stable as $$
  select w.id from "hookline".worker as w where w.alive and w.id <> me and w.handled->for_consumer ? of_type
  order by (select count(*) from "hookline".shard as s where s.owner = w.id), w.id desc limit 1
$$;

create or replace function "hookline".pass_on(me bigint, passed jsonb) returns void language sql as $$
  update "hookline".shard as s set owner = other.id,
    refused = array(select w.id from "hookline".worker as w where w.alive and w.id = any (s.refused || me) and w.id <> other.id)
  from jsonb_array_elements(passed) as p left join "hookline".worker as other on other.id = (p->>1)::bigint and other.alive
  where s.id = (p->>0)::smallint and s.owner = me and s.id in (
    select mine.id from "hookline".shard as mine where mine.owner = me and passed @> jsonb_build_array(jsonb_build_array(mine.id)) for update skip locked)
$$;

create or replace function "hookline".is_unseen(me bigint, seen bigint) returns boolean language sql stable as $$
  select exists (select from "hookline".worker as w where w.id > seen and w.alive and w.handled is distinct from (select one.handled from "hookline".worker as one where one.id = me))
$$;

create or replace function "hookline".next_block(size int) returns bigint language plpgsql as $$
begin
  if size >= 4096 then raise exception 'a commit needs % ids, and has 4095 at most', size; end if;
  return nextval('"hookline".block') * 4096;
end $$;

create or replace function "hookline".make(writer_id bigint, base bigint, days int[], ids bigint[], accounts bigint[], subscriptions bigint[],
  received bigint[], batch jsonb, now_ms bigint, dedupe_after bigint)
returns jsonb language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  duplicates int[] := '{}';
  conflicts int[] := '{}';
begin
  if batch ? 'unique' then
    -- In one order in all processes, or two of them could wait for each other: first all with their content, then all keys.
    with given as (select u.i, decode(u.w, 'hex') as w from jsonb_to_recordset(batch->'unique') as u (i int, w text, o int) where ids[u.o + 1] is not null),
    fresh as (
      insert into "hookline".dedupe as d (key, seen_at) select w, now_ms from (select distinct w from given order by w) as one
      on conflict (key) do update set seen_at = excluded.seen_at where d.seen_at <= dedupe_after returning d.key
    ),
    kept as (select given.i, row_number() over (partition by given.w order by given.i) as nth, fresh.key is not null as is_new from given left join fresh on fresh.key = given.w)
    select coalesce(array_agg(i), '{}') into duplicates from kept where not is_new or nth > 1;

    with given as (
      select u.i, decode(u.k, 'hex') as k from jsonb_to_recordset(batch->'unique') as u (i int, k text, o int)
      where ids[u.o + 1] is not null and not u.i = any (duplicates)
    ),
    known as (select d.key from "hookline".dedupe as d where d.key in (select k from given) and d.seen_at > dedupe_after),
    nths as (select i, k, row_number() over (partition by k order by i) as nth from given)
    select coalesce(array_agg(i), '{}') into conflicts from nths where nth > 1 or k in (select key from known);

    insert into "hookline".dedupe as d (key, seen_at)
    select decode(u.k, 'hex'), now_ms from jsonb_to_recordset(batch->'unique') as u (i int, k text, o int)
    where ids[u.o + 1] is not null and not u.i = any (duplicates) group by 1, 2 order by 1
    on conflict (key) do update set seen_at = greatest(d.seen_at, excluded.seen_at);
  end if;

  insert into "hookline".job (shard, id, writer, day, delivery, entry, type, consumer, lane, merge_key, account, subscription, received_at, replay_of)
  select j.s, base + j.at, writer_id, days[j.o + 1], ids[j.o + 1], j.e, j.t, j.c, j.l, j.m, accounts[j.o + 1], subscriptions[j.o + 1], received[j.o + 1], j.r
  from jsonb_to_recordset(batch->'jobs') as j (s smallint, at int, o int, e int, t text, c text, l text, m text, i int, r bigint)
  where ids[j.o + 1] is not null and (j.i is null or not j.i = any (duplicates))
  order by j.at;

  if batch ? 'unhandled' then
    insert into "hookline".unhandled (id, day, delivery, entry, type, consumer, account, subscription, received_at, replay_of, attempts, settled_at)
    select base + j.at, days[j.o + 1], ids[j.o + 1], j.e, j.t, j.c, accounts[j.o + 1], subscriptions[j.o + 1], received[j.o + 1], j.r, 0, now_ms
    from jsonb_to_recordset(batch->'unhandled') as j (at int, o int, e int, t text, c text, i int, r bigint)
    where ids[j.o + 1] is not null and (j.i is null or not j.i = any (duplicates));
  end if;

  if batch ? 'notices' then
    -- One after the other: of two in a batch the later one counts. An older notice than the last changes nothing. By keys, as above.
    declare
      notice record;
    begin
      for notice in
        with given as materialized (
          select n.*, origin.source, origin.sent_at, md5(jsonb_build_array(origin.source, n.subscription, n.resource)::text) as key,
            nextval(pg_get_serial_sequence($name$"hookline".subscription$name$, 'seq')) as seq
          from rows from (jsonb_to_recordset(batch->'notices') as (o int, subscription bigint, account bigint, resource text, error text)) with ordinality as n
          cross join lateral (
            select source, sent_at from "hookline".delivery as one where one.day in (days[n.o + 1], 0) and one.id = ids[n.o + 1] limit 1) as origin
          order by n.ordinality)
        select * from given order by key, ordinality
      loop
        loop
          delete from "hookline".subscription as s where s.key = notice.key and s.sent_at <= notice.sent_at;
          insert into "hookline".subscription (key, subscription, account, resource, source, error, sent_at, seq) overriding system value
          values (notice.key, notice.subscription, notice.account, notice.resource, notice.source, notice.error, notice.sent_at, notice.seq) on conflict (key) do nothing;
          -- Once more where another process has just stored an older one: the delete could not see it.
          exit when found or exists (select from "hookline".subscription as s where s.key = notice.key and s.sent_at > notice.sent_at);
        end loop;
      end loop;
    end;
  end if;
  return jsonb_build_object('duplicates', to_jsonb(duplicates), 'conflicts', to_jsonb(conflicts));
end $$;

create or replace function "hookline".store(writer_id bigint, fence bigint, batch jsonb, bodies bytea) returns jsonb language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  base bigint;
  today int := floor(extract(epoch from clock_timestamp()) / 86400)::int;
  now_ms bigint := (batch->>'now')::bigint;
  expanded int := (batch->>'expanded')::int;
  days int[];
  ids bigint[];
  accounts bigint[];
  subscriptions bigint[];
  received bigint[];
  seen jsonb := '{"duplicates": [], "conflicts": []}';
  repeated int[] := '{}';
begin
  -- Whatever the role or the database say: what is acknowledged is on the disk.
  if current_setting('synchronous_commit') = 'off' then perform set_config('synchronous_commit', 'on', true); end if;
  perform 1 from "hookline".writer where id = writer_id for no key update;
  if not found then return null; end if;
  -- What a queue brought before. It may wait for another process: before ids are taken, and in one order in all of them.
  if batch @? '$.deliveries[*].k' then
    with given as (select d.o, decode(d.k, 'hex') as k from jsonb_to_recordset(batch->'deliveries') as d (o int, k text) where d.k is not null),
    fresh as (
      insert into "hookline".dedupe as d (key, seen_at) select k, now_ms from (select distinct k from given order by k) as one
      on conflict (key) do update set seen_at = excluded.seen_at where d.seen_at <= (batch->>'dedupeAfter')::bigint returning d.key
    ),
    kept as (select given.o, row_number() over (partition by given.k order by given.o) as nth, fresh.key is not null as is_new from given left join fresh on fresh.key = given.k)
    select coalesce(array_agg(o), '{}') into repeated from kept where not is_new or nth > 1;
  end if;
  -- Expansion follows ids: what comes behind one that waits for it waits as well. Before ids are taken: what was expanded before this look has lower
  -- ones, while of what is expanded between it and the ids the jobs could come behind these.
  -- What a new worker may handle is left to the expander.
  if not batch ? 'expansions' and (exists (select from "hookline".unexpanded) or "hookline".is_unseen((batch->>'worker')::bigint, (batch->>'seen')::bigint)) then expanded := 0; end if;
  base := "hookline".next_block((batch->>'size')::int);

  if batch ? 'expansions' then
    perform 1 from "hookline".shard where id = 64 and owner = fence for share;
    if not found or "hookline".is_unseen(fence, (batch->>'seen')::bigint) then return jsonb_build_object('fenced', true); end if;
    -- One that was erased meanwhile, or expanded by a commit whose outcome was not known, makes no jobs.
    with given as (select * from jsonb_to_recordset(batch->'expansions') as e (o int, delivery bigint, cursor int, upto int, account bigint, subscription bigint) order by o),
    -- In the order of their ids.
    locked as materialized (select given.*, u.day, u.received_at from given left join lateral (
      select day, received_at from "hookline".unexpanded as one where one.delivery = given.delivery and coalesce(given.cursor, one.cursor) = one.cursor for update offset 0) as u on true),
    advanced as (update "hookline".unexpanded as u set cursor = locked.upto from locked where u.delivery = locked.delivery and locked.day is not null and locked.upto is not null),
    ended as (delete from "hookline".unexpanded as u using locked where u.delivery = locked.delivery and locked.day is not null and locked.upto is null)
    select array_agg(day), array_agg(case when day is not null then delivery end), array_agg(account), array_agg(subscription), array_agg(received_at)
    into days, ids, accounts, subscriptions, received from (select * from locked order by o) as locked;
  else
    with given as materialized (
      select d.*, case when d.o < expanded and not d.o = any (repeated) then base + d.at end as made
      from jsonb_to_recordset(batch->'deliveries') as d (o int, at int, r bigint, t bigint, s text, b text, g text, h jsonb, a bigint, u bigint, j text, f int, n int)),
    kept as (
      insert into "hookline".delivery (day, id, received_at, sent_at, source, signed_by, signature, headers, account, subscription, jobs, body)
      select today, base + at, r, t, s, b, g, h, case when o < expanded then a end, case when o < expanded then u end, case when o < expanded then j end, substring(bodies from f + 1 for n)
      from given where not o = any (repeated)),
    later as (
      insert into "hookline".unexpanded (delivery, day, cursor, received_at) select base + at, today, 0, r from given where o >= expanded and not o = any (repeated))
    select array_agg(today), array_agg(made), array_agg(a), array_agg(u), array_agg(r) into days, ids, accounts, subscriptions, received from (select * from given order by o) as given;
  end if;

  if array_remove(ids, null) <> '{}' then
    seen := "hookline".make(writer_id, base, days, ids, accounts, subscriptions, received, batch, now_ms, (batch->>'dedupeAfter')::bigint);
    if batch ? 'expansions' then
      insert into "hookline".job_list (day, first_job, delivery, account, subscription, jobs)
      select days[e.o + 1], base + e.at, e.delivery, e.account, e.subscription, e.jobs
      from jsonb_to_recordset(batch->'expansions') as e (o int, delivery bigint, at int, jobs text, account bigint, subscription bigint)
      where ids[e.o + 1] is not null and e.jobs is not null;
    end if;
    if jsonb_array_length(seen->'duplicates') > 0 then
      -- The places of their jobs, which were not made, in the lists that have them.
      update "hookline".delivery as d set absent = absent || gone.places from (
        select u.o, array_agg(place) as places from jsonb_to_recordset(batch->'unique') as u (i int, o int, p int, n int)
        cross join lateral generate_series(u.p, u.p + u.n - 1) as place
        where u.n > 0 and seen->'duplicates' @> to_jsonb(u.i) group by u.o) as gone
      where not batch ? 'expansions' and d.id = ids[gone.o + 1] and d.day = today;
      update "hookline".job_list as l set absent = absent || gone.places from (
        select u.o, array_agg(place) as places from jsonb_to_recordset(batch->'unique') as u (i int, o int, p int, n int)
        cross join lateral generate_series(u.p, u.p + u.n - 1) as place
        where u.n > 0 and seen->'duplicates' @> to_jsonb(u.i) group by u.o) as gone
      where batch ? 'expansions' and l.first_job = base + (batch->'expansions'->gone.o->>'at')::int and l.day = days[gone.o + 1];
    end if;
  end if;
  update "hookline".writer set seq = seq + 1, first_id = base, last_id = base + (batch->>'size')::int, used_at = clock_timestamp() where id = writer_id;
  return jsonb_build_object('base', base, 'expanded', expanded, 'repeated', to_jsonb(repeated), 'oldest', (select u.received_at from "hookline".unexpanded as u order by u.delivery limit 1), 'made', to_jsonb(array(select place - 1 from unnest(ids) with ordinality as one (id, place) where id is not null)))
    || seen;
end $$;

create or replace function "hookline".append(writer_id bigint, batch jsonb) returns bigint language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  base bigint;
  days int[];
  ids bigint[];
  accounts bigint[];
  subscriptions bigint[];
  received bigint[];
begin
  perform 1 from "hookline".writer where id = writer_id for no key update;
  if not found then return null; end if;
  -- The day where each is now: retention may have moved it since it was read. While its row is locked, retention does not remove it.
  select array_agg(d.day order by nth), array_agg(o.id order by nth), array_agg(o.account order by nth), array_agg(o.subscription order by nth), array_agg(o.received order by nth)
  into days, ids, accounts, subscriptions, received
  from rows from (jsonb_to_recordset(batch->'origins') as (id bigint, day int, received bigint, account bigint, subscription bigint)) with ordinality as o (id, day, received, account, subscription, nth)
  cross join lateral (select one.day from "hookline".delivery as one
    where one.day in (o.day, 0) and one.id = o.id limit 1 for key share) as d;
  if coalesce(cardinality(ids), 0) < (batch->>'size')::int then raise serialization_failure using message = 'a delivery was removed meanwhile'; end if;
  base := "hookline".next_block((batch->>'size')::int);
  perform "hookline".make(writer_id, base, days, ids, accounts, subscriptions, received, batch, (batch->>'now')::bigint, 0);
  insert into "hookline".job_list (day, first_job, delivery, account, subscription, jobs)
  select days[o.nth], base + o.nth, o.id, o.account, o.subscription, o.jobs
  from rows from (jsonb_to_recordset(batch->'origins') as (id bigint, account bigint, subscription bigint, jobs text)) with ordinality as o (id, account, subscription, jobs, nth);
  update "hookline".writer set seq = seq + 1, first_id = base, last_id = base + (batch->>'size')::int, used_at = clock_timestamp() where id = writer_id;
  return base;
end $$;

create or replace function "hookline".work(me bigint, step bigint, running_now bigint[] default '{}', since_then bigint[] default '{}', done_shards smallint[] default '{}', done_ids bigint[] default '{}',
  settle jsonb default '{}', mark_shards smallint[] default '{}', mark_ids bigint[] default '{}', wanted_days int[] default '{}', wanted_ids bigint[] default '{}')
returns table (head jsonb, id bigint, received_at bigint, sent_at bigint, source text, signed_by text, signature text, headers jsonb, body bytea)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set lock_timeout = '900ms' as $$
declare
  held bigint[] := '{}';
  left_over bigint[] := '{}';
  a_day int;
  passed jsonb := '[]';
begin
  -- The row is locked until the last body is sent: if this process is suspended meanwhile, others end the session.
  perform pg_advisory_xact_lock_shared(hashtextextended('hookline step "hookline" ' || me, 0));
  update "hookline".worker as w set beat = step, running = running_now, since = since_then
  where w.id = me and w.alive and w.beat < step and w.beat >= coalesce((settle->>'after')::bigint, 0)
    and coalesce((settle->>'server')::bigint, (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint) = (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint;
  if not found then
    return query select jsonb_build_object('alive', false, 'forgot', exists (select from "hookline".worker as w where w.id = me and w.alive and (w.beat < (settle->>'after')::bigint or (settle->>'server')::bigint <> (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint))), null::bigint, null::bigint, null::bigint, null::text, null::text, null::text, null::jsonb, null::bytea;
    return;
  end if;

  -- Jobs that are done.
  if done_ids <> '{}' then
    with given as (select * from unnest(done_shards, done_ids) as d (shard, id)),
    mine as (select j.at from given cross join lateral (
      select ctid as at from "hookline".job where job.shard = given.shard and job.id = given.id for update skip locked offset 0) as j),
    gone as (delete from "hookline".job using mine where job.ctid = mine.at returning job.id)
    select coalesce(array_agg(given.id), '{}') into left_over from given where given.id not in (select gone.id from gone);
  end if;

  -- Jobs that end otherwise, or wait again. The keys are short: a step may have thousands of them.
  if settle ? 'others' then
    with given as (
      select o.s as shard, o.i as id, o.w as state, o.a as attempts, o.d as deaths, o.g as group_max, o.f as first_attempt_at, o.r as run_at, o.y as delay_ms, o.e as error, o.z as settled_at
      from jsonb_to_recordset(settle->'others') as o (s smallint, i bigint, w text, a int, d int, g int, f bigint, r bigint, y bigint, e jsonb, z bigint)),
    mine as (select j.at, case when given.state = 'unhandled' then "hookline".heir(me, j.consumer, j.type) end as heir, given.* from given cross join lateral (
      select ctid as at, consumer, type from "hookline".job where job.shard = given.shard and job.id = given.id for update skip locked offset 0) as j),
    again as (update "hookline".job set attempts = mine.attempts, deaths = mine.deaths, group_max = mine.group_max, first_attempt_at = mine.first_attempt_at, run_at = mine.run_at, delay_ms = mine.delay_ms, error = mine.error
      from mine where job.ctid = mine.at and mine.state = 'waiting' returning job.id),
    gone as (delete from "hookline".job using mine where job.ctid = mine.at and mine.state <> 'waiting' and mine.heir is null
      returning job.*, mine.state, mine.attempts as ended_attempts, mine.error as ended_error, mine.settled_at),
    died as (insert into "hookline".dead select gone.id, day, delivery, entry, type, consumer, account, subscription, gone.received_at, replay_of, ended_attempts, ended_error, settled_at
      from gone where gone.state = 'dead'),
    unhandled_now as (insert into "hookline".unhandled select gone.id, day, delivery, entry, type, consumer, account, subscription, gone.received_at, replay_of, ended_attempts, ended_error, settled_at
      from gone where gone.state = 'unhandled')
    select left_over || coalesce(array_agg(given.id) filter (where mine.heir is null), '{}'), coalesce(jsonb_agg(jsonb_build_array(given.id, mine.heir)) filter (where mine.heir is not null), '[]')
    into left_over, passed from given left join mine on mine.id = given.id where given.id not in (select again.id from again) and given.id not in (select gone.id from gone);
  end if;

  -- Those of them whose rows are there, but locked by a transaction of the application.
  if cardinality(left_over) > 0 then
    held := array(select given.id from (
      select d.shard, d.id from unnest(done_shards, done_ids) as d (shard, id)
      union all select o.s, o.i from jsonb_to_recordset(settle->'others') as o (s smallint, i bigint)) as given
      where given.id = any (left_over) and exists (select from "hookline".job where job.shard = given.shard and job.id = given.id));
  end if;

  -- Since when a lane is retried, up to which job; without a time, that is over.
  if settle ? 'windows' then
    insert into "hookline".lane_window as l (shard, lane, since, up_to, key) select w.s, w.l, w.f, w.u, md5(w.l) from jsonb_to_recordset(settle->'windows') as w (s smallint, l text, f bigint, u bigint)
    where w.f is not null on conflict (shard, key) do update set since = excluded.since, up_to = excluded.up_to;
    delete from "hookline".lane_window as l using jsonb_to_recordset(settle->'windows') as w (s smallint, l text, f bigint) where l.shard = w.s and l.key = md5(w.l) and w.f is null;
  end if;

  -- Shards that are given up, to any worker or to a named one.
  if settle ? 'leave' then
    update "hookline".shard as s set owner = null where s.owner = me and s.id in (
      select mine.id from "hookline".shard as mine where mine.owner = me and settle->'leave' @> to_jsonb(mine.id) for update skip locked);
  end if;

  if settle ? 'pass' then perform "hookline".pass_on(me, settle->'pass'); end if;

  -- What the worker is to know, then the deliveries that it asked for.
  return query select jsonb_build_object('alive', true, 'gone', array(select m.id from unnest(mark_shards, mark_ids) as m (shard, id)
      where not exists (select from "hookline".job where job.shard = m.shard and job.id = m.id)), 'left', to_jsonb(left_over), 'held', to_jsonb(held), 'passed', passed,
    'vector', (select coalesce(jsonb_agg(jsonb_build_array(w.id, w.seq, w.first_id, w.last_id)), '[]') from "hookline".writer as w),
    'shards', (select coalesce(jsonb_agg(s.id), '[]') from "hookline".shard as s where s.owner = me),
    'removal', (select max(r.id) from "hookline".removal as r), 'unexpanded', exists (select from "hookline".unexpanded)),
    null::bigint, null::bigint, null::bigint, null::text, null::text, null::text, null::jsonb, null::bytea;
  -- A partition at a time, which takes one look at its index for each.
  for a_day in select distinct d from unnest(wanted_days || 0) as d where wanted_ids <> '{}' loop
    return query select null::jsonb, d.id, d.received_at, d.sent_at, d.source, d.signed_by, d.signature, d.headers, d.body
      from "hookline".delivery as d where d.day = a_day and d.id = any (wanted_ids);
  end loop;
end $$;

create or replace function "hookline".follow(shards smallint[], known jsonb)
returns table (head jsonb, shard smallint, id bigint, day int, delivery bigint, entry int, consumer text, lane text, merge_key text, received_at bigint, replay_of bigint, progress jsonb)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  cut jsonb;
  known_of jsonb := (select jsonb_object_agg(k->>0, k) from jsonb_array_elements(known) as k);
begin
  select coalesce(jsonb_agg(jsonb_build_array(w.id, w.seq, w.first_id, w.last_id)), '[]') into cut from "hookline".writer as w;
  return query select jsonb_build_object('vector', cut, 'server', (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint, 'removal', (select max(r.id) from "hookline".removal as r), 'unexpanded', exists (select from "hookline".unexpanded)), null::smallint, null::bigint, null::int, null::bigint, null::int, null::text, null::text, null::text, null::bigint, null::bigint, null::jsonb;
  return query
    with moved as (
      select (w->>0)::bigint as writer, case when (w->>1)::bigint = coalesce((k->>1)::bigint, 0) + 1 then (w->>2)::bigint else coalesce((k->>2)::bigint, 0) end as lo, (w->>3)::bigint as hi
      from (select w, known_of->(w->>0) as k from jsonb_array_elements(cut) as w offset 0) as of_writer
      where (w->>3)::bigint > coalesce((k->>2)::bigint, 0))
    select to_jsonb(j.account), j.shard, j.id, j.day, j.delivery, j.entry, j.consumer, j.lane, j.merge_key, j.received_at, j.replay_of,
      case when j.attempts + j.deaths + j.run_at > 0 or j.error is not null then
        jsonb_build_object('attempts', j.attempts, 'deaths', j.deaths, 'groupMax', j.group_max, 'firstAttemptAt', j.first_attempt_at, 'runAt', j.run_at, 'delayMs', j.delay_ms, 'error', j.error) end
    from moved cross join unnest(shards) as s (shard)
    cross join lateral (select * from "hookline".job where job.shard = s.shard and job.id > moved.lo and job.id <= moved.hi and job.writer = moved.writer offset 0) as j
    order by j.id;
end $$;

create or replace function "hookline".take_over(worker_id bigint, at_beat bigint, now_ms bigint, died boolean) returns boolean language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set lock_timeout = '5s' as $$
declare
  ran bigint[];
  begun bigint[];
begin
  -- Whatever the role or the database say: a death that a crash forgets would not count.
  if current_setting('synchronous_commit') = 'off' then perform set_config('synchronous_commit', 'on', true); end if;
  -- Its own last step may be under way.
  if at_beat is null then perform 1 from "hookline".worker where id = worker_id for no key update; end if;
  select running, since into ran, begun from "hookline".worker where id = worker_id and alive and (at_beat is null or beat = at_beat) for no key update skip locked;
  if not found then return false; end if;
  update "hookline".worker set alive = false where id = worker_id;

  if died and ran <> '{}' then
    -- orphaned(claimed(job)) of src/inbox/job-state.ts in SQL; a test compares the two.
    with mine as materialized (
      select j.*, least(j.first_attempt_at, coalesce(begun[array_position(ran, j.id)], now_ms)) as first from generate_series(0, 63) as s (shard)
      cross join lateral (select ctid as at, * from "hookline".job where job.shard = s.shard and job.id = any (ran) for update skip locked offset 0) as j),
    suspects as (select count(*) as number, ceil(count(*) / 2.0)::int as half from mine where deaths >= 2)
    update "hookline".job set attempts = mine.attempts + case when mine.deaths < 3 then 1 else 0 end,
      deaths = mine.deaths + case when mine.deaths >= 2 and suspects.number > 1 then 0 else 1 end,
      group_max = case when mine.deaths >= 2 then least(coalesce(mine.group_max, suspects.half), suspects.half) end,
      first_attempt_at = mine.first, run_at = 0, delay_ms = 0
    from mine cross join suspects where job.ctid = mine.at;
  end if;

  update "hookline".shard set owner = null where id in (select id from "hookline".shard where owner = worker_id for update skip locked);
  return true;
end $$;

create or replace function "hookline".free_orphans() returns void language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  ids smallint[];
begin
  if not exists (select from "hookline".shard as s where s.owner is not null and not exists (select from "hookline".worker as w where w.id = s.owner and w.alive)) then return; end if;
  ids := array(select s.id from "hookline".shard as s where s.owner is not null and not exists (select from "hookline".worker as w where w.id = s.owner and w.alive) for update skip locked);
  -- A second statement sees the worker that took one since the first began: to that one, which locked its row, it was not there.
  update "hookline".shard as s set owner = null where s.id = any (ids) and s.owner is not null and not exists (select from "hookline".worker as w where w.id = s.owner and w.alive);
end $$;

create or replace function "hookline".ensure_days() returns void language plpgsql security definer set search_path = pg_catalog, pg_temp set client_min_messages = warning as $$
declare
  today int := floor(extract(epoch from clock_timestamp()) / 86400)::int;
  missing record;
begin
  if not exists (select from generate_series(today, today + 2) as a_day cross join unnest(array['delivery', 'job_list']) as parent where not exists (select from pg_class where relname = parent || '_' || a_day and relnamespace = '"hookline"'::regnamespace)) then return; end if;
  perform pg_advisory_xact_lock(hashtextextended('hookline days "hookline"', 0));
  for missing in select * from generate_series(today, today + 2) as a_day cross join unnest(array['delivery', 'job_list']) as parent where not exists (select from pg_class where relname = parent || '_' || a_day and relnamespace = '"hookline"'::regnamespace) loop
    -- Not "create table ... partition of": that locks out everything that stores. Attaching locks out other changes of the table alone.
    execute format('create table "hookline".%I (like "hookline".%I including all)', missing.parent || '_' || missing.a_day, missing.parent);
    execute format('alter table "hookline".%I attach partition "hookline".%I for values in (%s)', missing.parent, missing.parent || '_' || missing.a_day, missing.a_day);
  end loop;
end $$;
revoke execute on function "hookline".ensure_days() from public;

create or replace function "hookline".barrier() returns bigint language plpgsql set lock_timeout = '500ms' as $$
begin
  lock table "hookline".writer in exclusive mode;
  return nextval('"hookline".block') * 4096;
exception when lock_not_available then return null;
end $$;

create or replace function "hookline".move_to_kept(of_day int, ids bigint[]) returns boolean language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  few bigint[];
begin
  select coalesce(array_agg(d.id), '{}') into few from (
    select one.id, sum(octet_length(one.body)) over (order by one.id) - octet_length(one.body) as before from "hookline".delivery as one
    where one.day = of_day and one.id = any (ids)) as d
  where d.before < 4194304;
  update "hookline".delivery set day = 0 where day = of_day and id = any (few);
  -- The lists of their jobs go where this says. What is being expanded is waited for: its list comes into the old day, and is moved behind it.
  update "hookline".unexpanded set day = 0 where day = of_day and delivery = any (few);
  update "hookline".job_list set day = 0 where day = of_day and delivery = any (few);
  return exists (select from "hookline".delivery where day = of_day and id = any (ids));
end $$;

create or replace function "hookline".keep_page(of_day int, source text, after_shard int, after_id bigint) returns jsonb language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  ids bigint[];
  last_shard int := 0;
  last_id bigint;
  seen int;
  is_end boolean;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('hookline upkeep "hookline"', 0)) then return null; end if;
  if source = 'unexpanded' then
    select coalesce(array_agg(delivery) filter (where day = of_day), '{}'), max(delivery), count(*) into ids, last_id, seen
    from (select delivery, day from "hookline".unexpanded where delivery > after_id order by delivery limit 500) as page;
    is_end := seen < 500;
  elsif source = 'job' then
    with page as materialized (
      select shard, id, day, delivery from "hookline".job where (shard, id) > (after_shard::smallint, after_id) order by shard, id limit 5000)
    select coalesce(array_agg(distinct delivery) filter (where day = of_day), '{}'), max(shard), (select id from page order by shard desc, id desc limit 1), count(*)
    into ids, last_shard, last_id, seen from page;
    is_end := seen < 5000;
  elsif source = 'dead' then
    select coalesce(array_agg(delivery), '{}'), max(delivery), count(*) into ids, last_id, seen
      from (select distinct delivery from "hookline".dead where day = of_day and delivery > after_id order by delivery limit 500) as page;
    is_end := seen < 500;
  else
    select coalesce(array_agg(delivery), '{}'), max(delivery), count(*) into ids, last_id, seen
      from (select distinct delivery from "hookline".unhandled where day = of_day and delivery > after_id order by delivery limit 500) as page;
    is_end := seen < 500;
  end if;
  if "hookline".move_to_kept(of_day, ids) then return jsonb_build_object('shard', after_shard, 'id', after_id); end if;
  return case when is_end then '{}'::jsonb else jsonb_build_object('shard', last_shard, 'id', last_id) end;
end $$;

create or replace function "hookline".keep_late(of_day int, since bigint) returns boolean language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  few bigint[];
  is_left boolean;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('hookline upkeep "hookline"', 0)) then return null; end if;
  few := array(
    with referred as (
      select j.delivery from generate_series(0, 63) as s (shard)
        cross join lateral (select delivery from "hookline".job where job.shard = s.shard::smallint and job.id >= since and job.day = of_day offset 0) as j
      union select delivery from "hookline".dead where id >= since and day = of_day
      union select delivery from "hookline".unhandled where id >= since and day = of_day
      union select delivery from "hookline".unexpanded where delivery >= since and day = of_day)
    select r.delivery from referred as r cross join lateral (select from "hookline".delivery as d where d.day = of_day and d.id = r.delivery limit 1) as still limit 500 + 1);
  is_left := "hookline".move_to_kept(of_day, few);
  return is_left or cardinality(few) > 500;
end $$;

create or replace function "hookline".drop_day(of_day int, since bigint) returns text language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set lock_timeout = '500ms' set client_min_messages = warning as $$
declare
  few bigint[];
begin
  if not pg_try_advisory_xact_lock(hashtextextended('hookline upkeep "hookline"', 0)) then return 'busy'; end if;
  lock table only "hookline".delivery, only "hookline".job_list in access exclusive mode;
  few := array(
    with referred as (
      select j.delivery from generate_series(0, 63) as s (shard)
        cross join lateral (select delivery from "hookline".job where job.shard = s.shard::smallint and job.id >= since and job.day = of_day offset 0) as j
      union select delivery from "hookline".dead where id >= since and day = of_day
      union select delivery from "hookline".unhandled where id >= since and day = of_day
      union select delivery from "hookline".unexpanded where delivery >= since and day = of_day)
    select r.delivery from referred as r cross join lateral (select from "hookline".delivery as d where d.day = of_day and d.id = r.delivery limit 1) as still limit 500 + 1);
  if cardinality(few) > 500 then return 'again'; end if;
  if "hookline".move_to_kept(of_day, few) then return 'again'; end if;
  -- Of a replay that began before the delivery was moved.
  update "hookline".job_list as l set day = 0 where l.day = of_day and l.first_job >= since
    and exists (select from "hookline".delivery as d where d.day = 0 and d.id = l.delivery);
  execute format('drop table if exists "hookline".%I, "hookline".%I', 'delivery_' || of_day, 'job_list_' || of_day);
  return 'dropped';
exception when lock_not_available or deadlock_detected then return 'busy';
end $$;
revoke execute on function "hookline".drop_day(int, bigint) from public;

create or replace function "hookline".list_length(jobs text) returns int language plpgsql immutable as $$
begin
  return coalesce(jsonb_array_length(jobs::jsonb), 0);
exception when data_exception or program_limit_exceeded then return 4096;
end $$;

create or replace function "hookline".remove_kept(after_id bigint) returns jsonb language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  ids bigint[];
  needed bigint[];
  page_size int;
  last_id bigint;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('hookline upkeep "hookline"', 0)) then return null; end if;
  select coalesce(array_agg(id), '{}'), max(id), count(*) into ids, last_id, page_size from (
    select id from "hookline".delivery where day = 0 and id > after_id order by id limit 500 for update skip locked) as page;
  -- Cheap, and enough for most that stay.
  with ranges as materialized (
      select d.id as delivery, d.id + 1 as lo, d.id + 1 + "hookline".list_length(d.jobs) as hi from "hookline".delivery as d
        where d.day = 0 and d.id = any (ids)
      union all select l.delivery, l.first_job, l.first_job + "hookline".list_length(l.jobs) from "hookline".job_list as l where l.delivery = any (ids))
  select coalesce(array_agg(u.delivery), '{}') into needed from (
    select delivery from "hookline".unexpanded where delivery = any (ids)
    union all select r.delivery from ranges as r cross join lateral (select from "hookline".dead as o where o.id >= r.lo and o.id < r.hi and o.delivery = r.delivery limit 1) as found
    union all select r.delivery from ranges as r cross join lateral (select from "hookline".unhandled as o where o.id >= r.lo and o.id < r.hi and o.delivery = r.delivery limit 1) as found) as u;
  ids := array(select one.id from unnest(ids) as one (id) where not one.id = any (needed));
  -- All in one statement: what refers may go from one table to another between two.
  with ranges as materialized (
      select d.id as delivery, d.id + 1 as lo, d.id + 1 + "hookline".list_length(d.jobs) as hi from "hookline".delivery as d
        where d.day = 0 and d.id = any (ids)
      union all select l.delivery, l.first_job, l.first_job + "hookline".list_length(l.jobs) from "hookline".job_list as l where l.delivery = any (ids))
  select coalesce(array_agg(u.delivery), '{}') into needed from (
    select delivery from "hookline".unexpanded where delivery = any (ids)
    union all select r.delivery from ranges as r cross join lateral (select from "hookline".dead as o where o.id >= r.lo and o.id < r.hi and o.delivery = r.delivery limit 1) as found
    union all select r.delivery from ranges as r cross join lateral (select from "hookline".unhandled as o where o.id >= r.lo and o.id < r.hi and o.delivery = r.delivery limit 1) as found
    union all select r.delivery from ranges as r cross join generate_series(0, 63) as s (shard)
      cross join lateral (select from "hookline".job as o where o.shard = s.shard::smallint and o.id >= r.lo and o.id < r.hi and o.delivery = r.delivery limit 1) as found) as u;
  ids := array(select one.id from unnest(ids) as one (id) where not one.id = any (needed));
  delete from "hookline".job_list where day = 0 and delivery = any (ids);
  delete from "hookline".delivery where day = 0 and id = any (ids);
  return jsonb_build_object('after', last_id, 'removed', cardinality(ids), 'stayed', page_size - cardinality(ids));
end $$;

create or replace function "hookline".expire(source text, until bigint) returns int language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  gone jsonb;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('hookline upkeep "hookline"', 0)) then return null; end if;
  if source = 'dead' then
    with old as (select id from "hookline".dead where settled_at <= until order by settled_at limit 500 for update skip locked),
    removed as (delete from "hookline".dead as t using old where t.id = old.id returning t.id, t.day, t.delivery)
    select coalesce(jsonb_agg(jsonb_build_object('i', id, 'y', day, 'd', delivery)), '[]') into gone from removed;
  else
    with old as (select id from "hookline".unhandled where settled_at <= until order by settled_at limit 500 for update skip locked),
    removed as (delete from "hookline".unhandled as t using old where t.id = old.id returning t.id, t.day, t.delivery)
    select coalesce(jsonb_agg(jsonb_build_object('i', id, 'y', day, 'd', delivery)), '[]') into gone from removed;
  end if;
  if jsonb_array_length(gone) = 0 then return 0; end if;
  with listed as (
    select g.i, g.y, g.d, (select max(l.first_job) from "hookline".job_list as l where l.delivery = g.d and l.day in (g.y, 0) and l.first_job <= g.i) as first
    from jsonb_to_recordset(gone) as g (i bigint, y int, d bigint)
  ),
  in_lists as (
    update "hookline".job_list as l set absent = l.absent || p.places
    from (select first, array_agg(y) || 0 as days, array_agg((i - first)::int) as places from listed where first is not null group by first) as p
    where l.day = any (p.days) and l.first_job = p.first
  )
  update "hookline".delivery as d set absent = d.absent || p.places
  from (select d as id, array_agg(y) || 0 as days, array_agg((i - d - 1)::int) as places from listed where first is null group by d) as p
  where d.day = any (p.days) and d.id = p.id;
  if source = 'dead' then
    insert into "hookline".meta as m values ('expired', jsonb_array_length(gone)::text)
    on conflict (key) do update set value = (m.value::bigint + excluded.value::bigint)::text;
  end if;
  return jsonb_array_length(gone);
end $$;

create or replace function "hookline".remove_bodies(ids bigint[]) returns jsonb language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  locked bigint[];
  held bigint[];
  opened bigint[];
  ended bigint[];
begin
  select coalesce(array_agg(id), '{}') into locked from (
    select id from "hookline".delivery where id = any (ids) and headers <> '[]'::jsonb order by id for update skip locked) as page;
  select coalesce(array_agg(id), '{}') into held from "hookline".delivery
  where id = any (ids) and not id = any (locked) and headers <> '[]'::jsonb;
  -- All in one statement: what refers may go from one table to another between two.
  with ranges as materialized (
    select d.id as delivery, d.id + 1 as lo, d.id + 1 + "hookline".list_length(d.jobs) as hi from "hookline".delivery as d where d.id = any (locked)
    union all select l.delivery, l.first_job, l.first_job + "hookline".list_length(l.jobs) from "hookline".job_list as l where l.delivery = any (locked)),
  blocks as (select distinct lo / 4096 as block from ranges),
  needed as (
    select delivery, true as is_open from "hookline".unexpanded where delivery = any (locked)
    union all select o.delivery, true from blocks as b cross join generate_series(0, 63) as s (shard)
      cross join lateral (select delivery from "hookline".job where job.shard = s.shard::smallint
        and job.id >= b.block * 4096 and job.id < (b.block + 1) * 4096 offset 0) as o
      where o.delivery = any (locked)
    union all select r.delivery, false from ranges as r cross join lateral (
      select from "hookline".dead as o where o.id >= r.lo and o.id < r.hi and o.delivery = r.delivery limit 1) as found
    union all select r.delivery, false from ranges as r cross join lateral (
      select from "hookline".unhandled as o where o.id >= r.lo and o.id < r.hi and o.delivery = r.delivery limit 1) as found)
  select coalesce(array_agg(distinct delivery) filter (where is_open), '{}'), coalesce(array_agg(distinct delivery) filter (where not is_open), '{}')
  into opened, ended from needed;
  update "hookline".delivery set headers = '[]'::jsonb, body = '' where id = any (locked) and not id = any (opened || ended);
  return jsonb_build_object('open', to_jsonb(opened || held), 'ended', to_jsonb(ended));
end $$;

create or replace function "hookline".lock_workers() returns bigint[] language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set lock_timeout = '1s' as $$
begin
  -- Ids of removals are to grow with their commits: workers remember the last one that they saw.
  perform 1 from "hookline".meta where key = 'version' for no key update;
  perform 1 from "hookline".shard order by id for share;
  perform 1 from "hookline".worker where alive order by id for update;
  return array(select job from "hookline".worker cross join unnest(running) as job where alive);
end $$;

create or replace function "hookline".mark_absent(gone jsonb) returns void language sql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set lock_timeout = '1s' as $$
  with given as (select (g->>0)::bigint as id, (g->>1)::bigint as delivery, (g->>2)::int as day from jsonb_array_elements(gone) as g),
  placed as (
    select given.*, later.first_job, later.day as list_day from given left join lateral (
      select l.first_job, l.day from (
        select first_job, day from "hookline".job_list as one
        where one.delivery = given.delivery and one.day in (given.day, 0) and one.first_job <= given.id offset 0) as l
      order by l.first_job desc limit 1) as later on true),
  later as (
    update "hookline".job_list as l set absent = l.absent || of.places
    from (select list_day, first_job, array_agg((id - first_job)::int) as places from placed where first_job is not null group by 1, 2) as of
    where l.first_job = of.first_job and l.day = of.list_day)
  update "hookline".delivery as d set absent = d.absent || of.places
  from (select delivery, day, array_agg((id - delivery - 1)::int) as places from placed where first_job is null group by 1, 2) as of
  where d.id = of.delivery and d.day in (of.day, 0);
$$;

create or replace function "hookline".sweep_unused_windows() returns void language plpgsql set enable_nestloop = off set jit = off set lock_timeout = '1s' as $$
begin
  if not exists (select from "hookline".lane_window) then return; end if;
  with used as materialized (
    select distinct w.shard, w.key from "hookline".lane_window as w join "hookline".job as j on j.shard = w.shard and j.lane = w.lane and j.id <= w.up_to),
  unused as materialized (
    select w.shard, w.key, w.since, w.up_to from "hookline".lane_window as w left join used on used.shard = w.shard and used.key = w.key where used.key is null)
  delete from "hookline".lane_window as w using unused as u where w.shard = u.shard and w.key = u.key and w.since = u.since and w.up_to = u.up_to;
end $$;

create or replace function "hookline".drop_jobs(ids bigint[], from_open boolean, from_dead boolean, from_unhandled boolean) returns int
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set lock_timeout = '1s' as $$
declare
  origins bigint[];
  opened jsonb;
  busy bigint[];
  gone jsonb := '[]';
  part jsonb;
begin
  select array_agg(distinct found.delivery), jsonb_agg(jsonb_build_array(found.shard, found.id)) filter (where found.shard is not null) into origins, opened
  from (
    select s.shard, j.id, j.delivery from generate_series(0, 63) as s (shard)
    cross join lateral (select id, delivery from "hookline".job where job.shard = s.shard and job.id = any (ids) offset 0) as j where from_open
    union all select null, id, delivery from "hookline".dead where id = any (ids)
    union all select null, id, delivery from "hookline".unhandled where id = any (ids)) as found;
  perform 1 from "hookline".delivery where id = any (origins) order by id for no key update;

  if opened is not null then
    busy := "hookline".lock_workers();
    with given as (select (o->>0)::smallint as shard, (o->>1)::bigint as id from jsonb_array_elements(opened) as o),
    mine as (select j.at from given cross join lateral (
      select ctid as at from "hookline".job where job.shard = given.shard and job.id = given.id for update skip locked offset 0) as j where not given.id = any (busy)),
    removed as (delete from "hookline".job using mine where job.ctid = mine.at returning job.id, job.delivery, job.day)
    select jsonb_agg(jsonb_build_array(id, delivery, day)) into part from removed;
    if part is not null then
      gone := part;
      insert into "hookline".removal (jobs) select array_agg((g->>0)::bigint) from jsonb_array_elements(part) as g;
    end if;
  end if;
  if from_dead then
    with mine as (select id from "hookline".dead where id = any (ids) for update skip locked),
    removed as (delete from "hookline".dead as t using mine where t.id = mine.id returning t.id, t.delivery, t.day)
    select gone || coalesce(jsonb_agg(jsonb_build_array(id, delivery, day)), '[]') into gone from removed;
  end if;
  if from_unhandled then
    with mine as (select id from "hookline".unhandled where id = any (ids) for update skip locked),
    removed as (delete from "hookline".unhandled as t using mine where t.id = mine.id returning t.id, t.delivery, t.day)
    select gone || coalesce(jsonb_agg(jsonb_build_array(id, delivery, day)), '[]') into gone from removed;
  end if;
  perform "hookline".mark_absent(gone);
  return jsonb_array_length(gone);
end $$;

create or replace function "hookline".erase_deliveries(ids bigint[]) returns jsonb language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set lock_timeout = '1s' as $$
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
  perform 1 from "hookline".delivery where id = any (ids) order by id for update;
  perform 1 from "hookline".unexpanded where delivery = any (ids) order by delivery for update;
  select coalesce(jsonb_agg(jsonb_build_object('delivery', l.delivery, 'first', l.first, 'last', l.last)), '[]') into lists from (
    select id as delivery, id + 1 as first, id + "hookline".list_length(jobs) as last from "hookline".delivery where id = any (ids) and jobs is not null
    union all select delivery, first_job, first_job + "hookline".list_length(jobs) - 1 from "hookline".job_list where delivery = any (ids)) as l
  where l.last >= l.first;
  select jsonb_agg(jsonb_build_array(s.shard, j.id, l.delivery)) into opened from jsonb_to_recordset(lists) as l (delivery bigint, first bigint, last bigint)
  cross join generate_series(0, 63) as s (shard)
  cross join lateral (select id from "hookline".job where job.shard = s.shard and job.id between l.first and l.last and job.delivery = l.delivery offset 0) as j;

  if opened is not null then
    perform "hookline".lock_workers();
    with given as (select (o->>0)::smallint as shard, (o->>1)::bigint as id, (o->>2)::bigint as delivery from jsonb_array_elements(opened) as o),
    locked as (select given.id from given cross join lateral (
      select 1 from "hookline".job where job.shard = given.shard and job.id = given.id for update skip locked offset 0) as j)
    select coalesce(array_agg(distinct given.delivery), '{}') into held from given where not exists (select from locked where locked.id = given.id)
      and exists (select from "hookline".job where job.shard = given.shard and job.id = given.id offset 0);
  end if;
  
    with seen as (
      select l.delivery, t.id from jsonb_to_recordset(lists) as l (delivery bigint, first bigint, last bigint)
      cross join lateral (select id from "hookline".dead where id between l.first and l.last and dead.delivery = l.delivery offset 0) as t),
    locked as (select t.id from seen cross join lateral (select id from "hookline".dead where id = seen.id for update skip locked offset 0) as t)
    select held || coalesce(array_agg(distinct seen.delivery) filter (where not exists (select from locked where locked.id = seen.id)), '{}'), coalesce(array_agg(seen.id), '{}')
    into held, ended_dead from seen;
  
    with seen as (
      select l.delivery, t.id from jsonb_to_recordset(lists) as l (delivery bigint, first bigint, last bigint)
      cross join lateral (select id from "hookline".unhandled where id between l.first and l.last and unhandled.delivery = l.delivery offset 0) as t),
    locked as (select t.id from seen cross join lateral (select id from "hookline".unhandled where id = seen.id for update skip locked offset 0) as t)
    select held || coalesce(array_agg(distinct seen.delivery) filter (where not exists (select from locked where locked.id = seen.id)), '{}'), coalesce(array_agg(seen.id), '{}')
    into held, ended_unhandled from seen;

  if opened is not null then
    with given as (select (o->>0)::smallint as shard, (o->>1)::bigint as id from jsonb_array_elements(opened) as o where not (o->>2)::bigint = any (held)),
    mine as (select j.at from given cross join lateral (
      select ctid as at from "hookline".job where job.shard = given.shard and job.id = given.id offset 0) as j),
    removed as (delete from "hookline".job using mine where job.ctid = mine.at returning job.id)
    select jsonb_agg(jsonb_build_array(id)) into part from removed;
    if part is not null then
      count_of := jsonb_array_length(part);
      insert into "hookline".removal (jobs) select array_agg((g->>0)::bigint) from jsonb_array_elements(part) as g;
    end if;
  end if;
  
    with removed as (delete from "hookline".dead as t where t.id = any (ended_dead) and not t.delivery = any (held) returning 1)
    select count_of + count(*) into count_of from removed;
  
    with removed as (delete from "hookline".unhandled as t where t.id = any (ended_unhandled) and not t.delivery = any (held) returning 1)
    select count_of + count(*) into count_of from removed;
  with removed as (delete from "hookline".unexpanded where delivery = any (ids) and not delivery = any (held) returning 1)
  select count_of + count(*) into count_of from removed;
  delete from "hookline".job_list where delivery = any (ids) and not delivery = any (held);
  update "hookline".tombstone set reason = 'its account was erased' where reason <> 'its account was erased'
    and subscription in (select subscription from "hookline".delivery where id = any (ids));
  get diagnostics reasons = row_count;
  delete from "hookline".delivery where id = any (ids) and not id = any (held);
  get diagnostics deliveries = row_count;
  return jsonb_build_object('count', count_of, 'held', to_jsonb(held), 'deliveries', deliveries, 'tombstones', reasons);
end $$;
insert into "hookline".meta values ('version', '6'), ('works_with', '1')
on conflict (key) do update set value = excluded.value;
end if;

end $hookline_migration$;
