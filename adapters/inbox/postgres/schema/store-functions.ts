import { BLOCK, EXPANDER, inLiteral, KEPT_DAY, PLANS, TODAY } from "./tables.ts";

/** How deliveries and their jobs get into the tables. */
export function storeFunctionsOf(ident: string): string {
  return [nextBlock, make, store, append].map((body) => body(ident)).join("\n");
}

/** The id before the first one of a commit's own block: with more than it has, they would be those of another commit. */
function nextBlock(ident: string): string {
  return /* sql */ `
create or replace function ${ident}.next_block(size int) returns bigint language plpgsql as $$
begin
  if size >= ${BLOCK} then raise exception 'a commit needs % ids, and has ${BLOCK - 1} at most', size; end if;
  return nextval('${inLiteral(ident)}.block') * ${BLOCK};
end $$;`;
}

/**
 * Jobs of the events of some deliveries, with their natural keys and lifecycle notices. \`o\` of each is the place of its delivery in the
 * arrays, from 0 on, and \`at\` its id in the block. A delivery without an id makes none.
 */
function make(ident: string): string {
  return /* sql */ `
create or replace function ${ident}.make(writer_id bigint, base bigint, days int[], ids bigint[], accounts bigint[], subscriptions bigint[],
  received bigint[], batch jsonb, now_ms bigint, dedupe_after bigint)
returns jsonb language plpgsql ${PLANS} as $$
declare
  duplicates int[] := '{}';
  conflicts int[] := '{}';
begin
  if batch ? 'unique' then
    -- In one order in all processes, or two of them could wait for each other: first all with their content, then all keys.
    with given as (select u.i, decode(u.w, 'hex') as w from jsonb_to_recordset(batch->'unique') as u (i int, w text, o int) where ids[u.o + 1] is not null),
    fresh as (
      insert into ${ident}.dedupe as d (key, seen_at) select w, now_ms from (select distinct w from given order by w) as one
      on conflict (key) do update set seen_at = excluded.seen_at where d.seen_at <= dedupe_after returning d.key
    ),
    kept as (select given.i, row_number() over (partition by given.w order by given.i) as nth, given.w in (select fresh.key from fresh) as is_new from given)
    select coalesce(array_agg(i), '{}') into duplicates from kept where not is_new or nth > 1;

    with given as (
      select u.i, decode(u.k, 'hex') as k from jsonb_to_recordset(batch->'unique') as u (i int, k text, o int)
      where ids[u.o + 1] is not null and not u.i = any (duplicates)
    ),
    known as (select d.key from ${ident}.dedupe as d where d.key in (select k from given) and d.seen_at > dedupe_after),
    nths as (select i, k, row_number() over (partition by k order by i) as nth from given)
    select coalesce(array_agg(i), '{}') into conflicts from nths where nth > 1 or k in (select key from known);

    insert into ${ident}.dedupe as d (key, seen_at)
    select decode(u.k, 'hex'), now_ms from jsonb_to_recordset(batch->'unique') as u (i int, k text, o int)
    where ids[u.o + 1] is not null and not u.i = any (duplicates) group by 1, 2 order by 1
    on conflict (key) do update set seen_at = greatest(d.seen_at, excluded.seen_at);
  end if;

  insert into ${ident}.job (shard, id, writer, day, delivery, entry, type, consumer, lane, merge_key, account, subscription, received_at, replay_of)
  select j.s, base + j.at, writer_id, days[j.o + 1], ids[j.o + 1], j.e, j.t, j.c, j.l, j.m, accounts[j.o + 1], subscriptions[j.o + 1], received[j.o + 1], j.r
  from jsonb_to_recordset(batch->'jobs') as j (s smallint, at int, o int, e int, t text, c text, l text, m text, i int, r bigint)
  where ids[j.o + 1] is not null and (j.i is null or not j.i = any (duplicates))
  order by j.at;

  if batch ? 'unhandled' then
    insert into ${ident}.unhandled (id, day, delivery, entry, type, consumer, account, subscription, received_at, replay_of, attempts, settled_at)
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
            nextval(pg_get_serial_sequence($name$${ident}.subscription$name$, 'seq')) as seq
          from rows from (jsonb_to_recordset(batch->'notices') as (o int, subscription bigint, account bigint, resource text, error text)) with ordinality as n
          cross join lateral (
            select source, sent_at from ${ident}.delivery as one where one.day in (days[n.o + 1], ${KEPT_DAY}) and one.id = ids[n.o + 1] limit 1) as origin
          order by n.ordinality)
        select * from given order by key, ordinality
      loop
        loop
          delete from ${ident}.subscription as s where s.key = notice.key and s.sent_at <= notice.sent_at;
          insert into ${ident}.subscription (key, subscription, account, resource, source, error, sent_at, seq) overriding system value
          values (notice.key, notice.subscription, notice.account, notice.resource, notice.source, notice.error, notice.sent_at, notice.seq) on conflict (key) do nothing;
          -- Once more where another process has just stored an older one: the delete could not see it.
          exit when found or exists (select from ${ident}.subscription as s where s.key = notice.key and s.sent_at > notice.sent_at);
        end loop;
      end loop;
    end;
  end if;
  return jsonb_build_object('duplicates', to_jsonb(duplicates), 'conflicts', to_jsonb(conflicts));
end $$;`;
}

/** By the place of a delivery, those in its list of jobs that were not made. */
const placesOfDuplicates = /* sql */ `
        select u.o, array_agg(place) as places from jsonb_to_recordset(batch->'unique') as u (i int, o int, p int, n int)
        cross join lateral generate_series(u.p, u.p + u.n - 1) as place
        where u.n > 0 and seen->'duplicates' @> to_jsonb(u.i) group by u.o`;

/**
 * Stores deliveries with their jobs; expands others. Gives null where the writer's row is gone: nothing is stored. \`fence\`: the worker
 * that expands, where \`batch.expansions\` is given.
 */
function store(ident: string): string {
  return /* sql */ `
create or replace function ${ident}.store(writer_id bigint, fence bigint, batch jsonb, bodies bytea) returns jsonb language plpgsql ${PLANS} as $$
declare
  base bigint;
  today int := ${TODAY};
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
  perform 1 from ${ident}.writer where id = writer_id for no key update;
  if not found then return null; end if;
  -- What a queue brought before. It may wait for another process: before ids are taken, and in one order in all of them.
  if batch @? '$.deliveries[*].k' then
    with given as (select d.o, decode(d.k, 'hex') as k from jsonb_to_recordset(batch->'deliveries') as d (o int, k text) where d.k is not null),
    fresh as (
      insert into ${ident}.dedupe as d (key, seen_at) select k, now_ms from (select distinct k from given order by k) as one
      on conflict (key) do update set seen_at = excluded.seen_at where d.seen_at <= (batch->>'dedupeAfter')::bigint returning d.key
    ),
    kept as (select given.o, row_number() over (partition by given.k order by given.o) as nth, given.k in (select fresh.key from fresh) as is_new from given)
    select coalesce(array_agg(o), '{}') into repeated from kept where not is_new or nth > 1;
  end if;
  -- Expansion follows ids: what comes behind one that waits for it waits as well. Before ids are taken: what was expanded before this look has lower
  -- ones, while of what is expanded between it and the ids the jobs could come behind these.
  -- What a new worker may handle is left to the expander.
  if not batch ? 'expansions' and (exists (select from ${ident}.unexpanded) or ${ident}.is_unseen((batch->>'worker')::bigint, (batch->>'seen')::bigint)) then expanded := 0; end if;
  base := ${ident}.next_block((batch->>'size')::int);

  if batch ? 'expansions' then
    perform 1 from ${ident}.shard where id = ${EXPANDER} and owner = fence for share;
    if not found or ${ident}.is_unseen(fence, (batch->>'seen')::bigint) then return jsonb_build_object('fenced', true); end if;
    -- One that was erased meanwhile, or expanded by a commit whose outcome was not known, makes no jobs.
    with given as (select * from jsonb_to_recordset(batch->'expansions') as e (o int, delivery bigint, cursor int, upto int, account bigint, subscription bigint) order by o),
    -- In the order of their ids.
    locked as materialized (select given.*, u.day, u.received_at from given left join lateral (
      select day, received_at from ${ident}.unexpanded as one where one.delivery = given.delivery and coalesce(given.cursor, one.cursor) = one.cursor for update offset 0) as u on true),
    advanced as (update ${ident}.unexpanded as u set cursor = locked.upto from locked where u.delivery = locked.delivery and locked.day is not null and locked.upto is not null),
    ended as (delete from ${ident}.unexpanded as u using locked where u.delivery = locked.delivery and locked.day is not null and locked.upto is null)
    select array_agg(day), array_agg(case when day is not null then delivery end), array_agg(account), array_agg(subscription), array_agg(received_at)
    into days, ids, accounts, subscriptions, received from (select * from locked order by o) as locked;
  else
    with given as materialized (
      select d.*, case when d.o < expanded and not d.o = any (repeated) then base + d.at end as made
      from jsonb_to_recordset(batch->'deliveries') as d (o int, at int, r bigint, t bigint, s text, b text, g text, h jsonb, a bigint, u bigint, j text, f int, n int)),
    kept as (
      insert into ${ident}.delivery (day, id, received_at, sent_at, source, signed_by, signature, headers, account, subscription, jobs, body)
      select today, base + at, r, t, s, b, g, h, case when o < expanded then a end, case when o < expanded then u end, case when o < expanded then j end, substring(bodies from f + 1 for n)
      from given where not o = any (repeated)),
    later as (
      insert into ${ident}.unexpanded (delivery, day, cursor, received_at) select base + at, today, 0, r from given where o >= expanded and not o = any (repeated))
    select array_agg(today), array_agg(made), array_agg(a), array_agg(u), array_agg(r) into days, ids, accounts, subscriptions, received from (select * from given order by o) as given;
  end if;

  if array_remove(ids, null) <> '{}' then
    seen := ${ident}.make(writer_id, base, days, ids, accounts, subscriptions, received, batch, now_ms, (batch->>'dedupeAfter')::bigint);
    if batch ? 'expansions' then
      insert into ${ident}.job_list (day, first_job, delivery, account, subscription, jobs)
      select days[e.o + 1], base + e.at, e.delivery, e.account, e.subscription, e.jobs
      from jsonb_to_recordset(batch->'expansions') as e (o int, delivery bigint, at int, jobs text, account bigint, subscription bigint)
      where ids[e.o + 1] is not null and e.jobs is not null;
    end if;
    if jsonb_array_length(seen->'duplicates') > 0 then
      -- The places of their jobs, which were not made, in the lists that have them.
      update ${ident}.delivery as d set absent = absent || gone.places from (${placesOfDuplicates}) as gone
      where not batch ? 'expansions' and d.id = ids[gone.o + 1] and d.day = today;
      update ${ident}.job_list as l set absent = absent || gone.places from (${placesOfDuplicates}) as gone
      where batch ? 'expansions' and l.first_job = base + (batch->'expansions'->gone.o->>'at')::int and l.day = days[gone.o + 1];
    end if;
  end if;
  update ${ident}.writer set seq = seq + 1, first_id = base, last_id = base + (batch->>'size')::int, used_at = clock_timestamp() where id = writer_id;
  return jsonb_build_object('base', base, 'expanded', expanded, 'repeated', to_jsonb(repeated), 'oldest', (select u.received_at from ${ident}.unexpanded as u order by u.delivery limit 1), 'made', to_jsonb(array(select place - 1 from unnest(ids) with ordinality as one (id, place) where id is not null)))
    || seen;
end $$;`;
}

/** More jobs of deliveries that were expanded before, each with a list of its own. Null where the writer's row is gone. @returns the block */
function append(ident: string): string {
  return /* sql */ `
create or replace function ${ident}.append(writer_id bigint, batch jsonb) returns bigint language plpgsql ${PLANS} as $$
declare
  base bigint;
  days int[];
  ids bigint[];
  accounts bigint[];
  subscriptions bigint[];
  received bigint[];
begin
  perform 1 from ${ident}.writer where id = writer_id for no key update;
  if not found then return null; end if;
  -- The day where each is now: retention may have moved it since it was read. While its row is locked, retention does not remove it.
  select array_agg(d.day order by nth), array_agg(o.id order by nth), array_agg(o.account order by nth), array_agg(o.subscription order by nth), array_agg(o.received order by nth)
  into days, ids, accounts, subscriptions, received
  from rows from (jsonb_to_recordset(batch->'origins') as (id bigint, day int, received bigint, account bigint, subscription bigint)) with ordinality as o (id, day, received, account, subscription, nth)
  cross join lateral (select one.day from ${ident}.delivery as one
    where one.day in (o.day, ${KEPT_DAY}) and one.id = o.id limit 1 for key share) as d;
  if coalesce(cardinality(ids), 0) < (batch->>'size')::int then raise serialization_failure using message = 'a delivery was removed meanwhile'; end if;
  base := ${ident}.next_block((batch->>'size')::int);
  perform ${ident}.make(writer_id, base, days, ids, accounts, subscriptions, received, batch, (batch->>'now')::bigint, 0);
  insert into ${ident}.job_list (day, first_job, delivery, account, subscription, jobs)
  select days[o.nth], base + o.nth, o.id, o.account, o.subscription, o.jobs
  from rows from (jsonb_to_recordset(batch->'origins') as (id bigint, account bigint, subscription bigint, jobs text)) with ordinality as o (id, account, subscription, jobs, nth);
  update ${ident}.writer set seq = seq + 1, first_id = base, last_id = base + (batch->>'size')::int, used_at = clock_timestamp() where id = writer_id;
  return base;
end $$;`;
}
