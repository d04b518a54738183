import { BLOCK, EXPANDER, inLiteral, KEPT_DAY, PLANS, TODAY } from "./tables.ts";

/** How deliveries and their jobs get into the tables. */
export function storeFunctionsOf(ident: string): string {
  return [make, store, append].map((body) => body(ident)).join("\n");
}

/**
 * Jobs of the events of some deliveries, with their natural keys and lifecycle notices. Each has the place of its delivery in \`origins\`,
 * and \`at\`: its id in the block.
 */
function make(ident: string): string {
  return `
create or replace function ${ident}.make(writer_id bigint, base bigint, origins jsonb, batch jsonb, now_ms bigint, dedupe_after bigint)
returns jsonb language plpgsql ${PLANS} as $$
declare
  duplicates int[] := '{}';
  conflicts int[] := '{}';
begin
  if batch ? 'unique' then
    -- In one order in all processes, or two of them could wait for each other: first all with their content, then all keys.
    with given as (select u.i, decode(u.w, 'hex') as w from jsonb_to_recordset(batch->'unique') as u (i int, w text, o int) where origins ? u.o::text),
    fresh as (
      insert into ${ident}.dedupe as d (key, seen_at) select w, now_ms from (select distinct w from given order by w) as one
      on conflict (key) do update set seen_at = excluded.seen_at where d.seen_at <= dedupe_after returning d.key
    ),
    kept as (select given.i, row_number() over (partition by given.w order by given.i) as nth, fresh.key is not null as is_new from given left join fresh on fresh.key = given.w)
    select coalesce(array_agg(i), '{}') into duplicates from kept where not is_new or nth > 1;

    with given as (
      select u.i, decode(u.k, 'hex') as k from jsonb_to_recordset(batch->'unique') as u (i int, k text, o int)
      where origins ? u.o::text and not u.i = any (duplicates)
    ),
    known as (select d.key from ${ident}.dedupe as d where d.key in (select k from given) and d.seen_at > dedupe_after),
    nths as (select i, k, row_number() over (partition by k order by i) as nth from given)
    select coalesce(array_agg(i), '{}') into conflicts from nths where nth > 1 or k in (select key from known);

    insert into ${ident}.dedupe as d (key, seen_at)
    select decode(u.k, 'hex'), now_ms from jsonb_to_recordset(batch->'unique') as u (i int, k text, o int)
    where origins ? u.o::text and not u.i = any (duplicates) group by 1, 2 order by 1
    on conflict (key) do update set seen_at = greatest(d.seen_at, excluded.seen_at);
  end if;

  insert into ${ident}.job (shard, id, writer, day, delivery, entry, type, consumer, lane, merge_key, account, subscription, received_at, replay_of)
  select j.s, base + j.at, writer_id, (origin.json->>'day')::int, (origin.json->>'id')::bigint, j.e, j.t, j.c, j.l, j.m, (origin.json->>'account')::bigint, (origin.json->>'subscription')::bigint,
    (origin.json->>'received')::bigint, j.r
  from jsonb_to_recordset(batch->'jobs') as j (s smallint, at int, o int, e int, t text, c text, l text, m text, i int, r bigint)
  cross join lateral (select origins->j.o::text as json) as origin
  where origin.json is not null and (j.i is null or not j.i = any (duplicates))
  order by j.at;

  if batch ? 'unhandled' then
    insert into ${ident}.unhandled (id, day, delivery, entry, type, consumer, account, subscription, received_at, replay_of, attempts, settled_at)
    select base + j.at, (origin.json->>'day')::int, (origin.json->>'id')::bigint, j.e, j.t, j.c, (origin.json->>'account')::bigint, (origin.json->>'subscription')::bigint, (origin.json->>'received')::bigint,
      j.r, 0, now_ms
    from jsonb_to_recordset(batch->'unhandled') as j (at int, o int, e int, t text, c text, i int, r bigint)
    cross join lateral (select origins->j.o::text as json) as origin
    where origin.json is not null and (j.i is null or not j.i = any (duplicates));
  end if;

  if batch ? 'notices' then
    -- One after the other: of two in a batch the later one counts. An older notice than the last changes nothing. By keys, as above.
    declare
      notice record;
    begin
      for notice in
        with given as materialized (
          select n.*, origin.json as origin, md5(jsonb_build_array(origin.json->>'source', n.subscription, n.resource)::text) as key,
            nextval(pg_get_serial_sequence($name$${ident}.subscription$name$, 'seq')) as seq
          from rows from (jsonb_to_recordset(batch->'notices') as (o int, subscription bigint, account bigint, resource text, error text)) with ordinality as n
          cross join lateral (select origins->n.o::text as json) as origin
          where origin.json is not null order by n.ordinality)
        select * from given order by key, ordinality
      loop
        delete from ${ident}.subscription as s where s.key = notice.key and s.sent_at <= (notice.origin->>'sent')::bigint;
        insert into ${ident}.subscription (key, subscription, account, resource, source, error, sent_at, seq) overriding system value
        values (notice.key, notice.subscription, notice.account, notice.resource, notice.origin->>'source', notice.error, (notice.origin->>'sent')::bigint, notice.seq) on conflict (key) do nothing;
      end loop;
    end;
  end if;
  return jsonb_build_object('duplicates', to_jsonb(duplicates), 'conflicts', to_jsonb(conflicts));
end $$;`;
}

/**
 * Stores deliveries with their jobs; expands others. Gives null where the writer's row is gone: nothing is stored. \`fence\`: the worker
 * that expands, where \`batch.expansions\` is given.
 */
function store(ident: string): string {
  return `
create or replace function ${ident}.store(writer_id bigint, fence bigint, batch jsonb, bodies bytea) returns jsonb language plpgsql ${PLANS} as $$
declare
  base bigint;
  today int := ${TODAY};
  now_ms bigint := (batch->>'now')::bigint;
  expanded int := (batch->>'expanded')::int;
  origins jsonb;
  seen jsonb;
  repeated int[] := '{}';
begin
  -- Whatever the role or the database say: what is acknowledged is on the disk.
  if current_setting('synchronous_commit') = 'off' then perform set_config('synchronous_commit', 'on', true); end if;
  perform 1 from ${ident}.writer where id = writer_id for no key update;
  if not found then return null; end if;
  -- What a queue brought before. It may wait for another process: before ids are taken, and in one order in all of them.
  if batch @? '$.deliveries[*].k' then
    with given as (select d.o, decode(d.k, 'hex') as k from jsonb_to_recordset(batch->'deliveries') as d (o int, k text) where d.k is not null),
    fresh as (
      insert into ${ident}.dedupe as d (key, seen_at) select k, now_ms from (select distinct k from given order by k) as one
      on conflict (key) do update set seen_at = excluded.seen_at where d.seen_at <= (batch->>'dedupeAfter')::bigint returning d.key
    ),
    kept as (select given.o, row_number() over (partition by given.k order by given.o) as nth, fresh.key is not null as is_new from given left join fresh on fresh.key = given.k)
    select coalesce(array_agg(o), '{}') into repeated from kept where not is_new or nth > 1;
    batch := batch || (select jsonb_object_agg(name, coalesce((
        select jsonb_agg(one order by place) from jsonb_array_elements(batch->name) with ordinality as list (one, place) where not (one->>'o')::int = any (repeated)), '[]'))
      from unnest(array['deliveries', 'jobs', 'unhandled', 'unique', 'notices']) as name where batch ? name);
  end if;
  -- Expansion follows ids: what comes behind one that waits for it waits as well. Before ids are taken: what was expanded before this look has lower
  -- ones, while of what is expanded between it and the ids the jobs could come behind these.
  -- What a new worker may handle is left to the expander.
  if not batch ? 'expansions' and (exists (select from ${ident}.unexpanded) or ${ident}.is_unseen((batch->>'worker')::bigint, (batch->>'seen')::bigint)) then expanded := 0; end if;
  base := nextval('${inLiteral(ident)}.block') * ${BLOCK};

  if batch ? 'expansions' then
    perform 1 from ${ident}.shard where id = ${EXPANDER} and owner = fence for share;
    if not found or ${ident}.is_unseen(fence, (batch->>'seen')::bigint) then return jsonb_build_object('fenced', true); end if;
    -- One that was erased meanwhile, or expanded by a commit whose outcome was not known, makes no jobs.
    with given as (select * from jsonb_to_recordset(batch->'expansions') as e (o int, delivery bigint, at int, cursor int, upto int, jobs text, account bigint, subscription bigint)),
    locked as (select u.delivery, u.day, u.received_at from ${ident}.unexpanded as u join given on given.delivery = u.delivery and coalesce(given.cursor, u.cursor) = u.cursor order by u.delivery for update of u),
    advanced as (update ${ident}.unexpanded as u set cursor = given.upto from given, locked where u.delivery = given.delivery and locked.delivery = u.delivery and given.upto is not null),
    ended as (delete from ${ident}.unexpanded as u using given, locked where u.delivery = given.delivery and locked.delivery = u.delivery and given.upto is null)
    select jsonb_object_agg(given.o::text, jsonb_build_object('id', given.delivery, 'day', locked.day, 'received', locked.received_at, 'account', given.account,
      'subscription', given.subscription, 'first', base + given.at, 'jobs', given.jobs,
      'source', d.source, 'sent', d.sent_at))
    into origins from given join locked on locked.delivery = given.delivery
    cross join lateral (select source, sent_at from ${ident}.delivery as one where one.day in (locked.day, ${KEPT_DAY}) and one.id = given.delivery limit 1) as d;
  else
    insert into ${ident}.delivery (day, id, received_at, sent_at, source, signed_by, signature, headers, account, subscription, jobs, body)
    select today, base + d.at, d.r, d.t, d.s, d.b, d.g, d.h, case when d.o < expanded then d.a end, case when d.o < expanded then d.u end,
      case when d.o < expanded then d.j end, substring(bodies from d.f + 1 for d.n)
    from jsonb_to_recordset(batch->'deliveries') as d (o int, at int, r bigint, t bigint, s text, b text, g text, h jsonb, a bigint, u bigint, j text, f int, n int);
    insert into ${ident}.unexpanded (delivery, day, cursor, received_at)
    select base + d.at, today, 0, d.r from jsonb_to_recordset(batch->'deliveries') as d (o int, at int, r bigint) where d.o >= expanded;
    select jsonb_object_agg(d.o::text, jsonb_build_object('id', base + d.at, 'day', today, 'received', d.r, 'account', d.a, 'subscription', d.u, 'source', d.s, 'sent', d.t))
    into origins from jsonb_to_recordset(batch->'deliveries') as d (o int, at int, r bigint, t bigint, s text, a bigint, u bigint) where d.o < expanded;
  end if;

  if origins is not null then
    seen := ${ident}.make(writer_id, base, origins, batch, now_ms, (batch->>'dedupeAfter')::bigint);
    if batch ? 'expansions' then
      insert into ${ident}.job_list (day, first_job, delivery, account, subscription, jobs)
      select (o.value->>'day')::int, (o.value->>'first')::bigint, (o.value->>'id')::bigint, (o.value->>'account')::bigint, (o.value->>'subscription')::bigint, o.value->>'jobs'
      from jsonb_each(origins) as o where o.value->>'jobs' is not null;
    end if;
    if jsonb_array_length(seen->'duplicates') > 0 then
      -- The places of their jobs, which were not made, in the lists that have them.
      update ${ident}.delivery as d set absent = absent || gone.places from (
        select u.o, array_agg(place) as places from jsonb_to_recordset(batch->'unique') as u (i int, o int, p int, n int)
        cross join lateral generate_series(u.p, u.p + u.n - 1) as place
        where u.n > 0 and seen->'duplicates' @> to_jsonb(u.i) group by u.o) as gone
      where not batch ? 'expansions' and d.id = (origins->gone.o::text->>'id')::bigint and d.day = today;
      update ${ident}.job_list as l set absent = absent || gone.places from (
        select u.o, array_agg(place) as places from jsonb_to_recordset(batch->'unique') as u (i int, o int, p int, n int)
        cross join lateral generate_series(u.p, u.p + u.n - 1) as place
        where u.n > 0 and seen->'duplicates' @> to_jsonb(u.i) group by u.o) as gone
      where batch ? 'expansions' and l.first_job = (origins->gone.o::text->>'first')::bigint and l.day = (origins->gone.o::text->>'day')::int;
    end if;
  end if;
  update ${ident}.writer set seq = seq + 1, first_id = base, last_id = base + (batch->>'size')::int, used_at = clock_timestamp() where id = writer_id;
  return jsonb_build_object('base', base, 'expanded', expanded, 'repeated', to_jsonb(repeated), 'oldest', (select u.received_at from ${ident}.unexpanded as u order by u.delivery limit 1), 'made', case when origins is null then '[]'::jsonb else (select jsonb_agg(key::int) from jsonb_object_keys(origins) as key) end)
    || coalesce(seen, '{"duplicates": [], "conflicts": []}'::jsonb);
end $$;`;
}

/** More jobs of deliveries that were expanded before, each with a list of its own. Null where the writer's row is gone. @returns the block */
function append(ident: string): string {
  return `
create or replace function ${ident}.append(writer_id bigint, origins jsonb, batch jsonb) returns bigint language plpgsql ${PLANS} as $$
declare
  base bigint;
  found_now int;
begin
  perform 1 from ${ident}.writer where id = writer_id for no key update;
  if not found then return null; end if;
  -- The day where each is now: retention may have moved it since it was read. While its row is locked, retention does not remove it.
  select jsonb_object_agg(o.key, o.value || jsonb_build_object('day', d.day)), count(*) into origins, found_now from jsonb_each(origins) as o
  cross join lateral (select one.day from ${ident}.delivery as one
    where one.day in ((o.value->>'day')::int, ${KEPT_DAY}) and one.id = (o.value->>'id')::bigint limit 1 for key share) as d;
  if found_now < (batch->>'size')::int then raise serialization_failure using message = 'a delivery was removed meanwhile'; end if;
  base := nextval('${inLiteral(ident)}.block') * ${BLOCK};
  perform ${ident}.make(writer_id, base, origins, batch, (batch->>'now')::bigint, 0);
  insert into ${ident}.job_list (day, first_job, delivery, account, subscription, jobs)
  select (o.value->>'day')::int, base + (o.value->>'at')::int, (o.value->>'id')::bigint, (o.value->>'account')::bigint, (o.value->>'subscription')::bigint, o.value->>'jobs'
  from jsonb_each(origins) as o;
  update ${ident}.writer set seq = seq + 1, first_id = base, last_id = base + (batch->>'size')::int, used_at = clock_timestamp() where id = writer_id;
  return base;
end $$;`;
}
