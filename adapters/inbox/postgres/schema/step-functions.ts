import { KEPT_DAY, PLANS, SERVER, stepLockOf } from "./tables.ts";

/** What a worker asks for: its next step, and what came in. */
export function stepFunctionsOf(ident: string): string {
  return [work, follow].map((body) => body(ident)).join("\n");
}

/**
 * One step of a worker: heartbeat, poison mark, and how its claims end. A first row with what is to be known, then the deliveries that were
 * asked for. A dead worker's changes nothing, nor does one that comes behind a later one: of a connection that broke, say. Nor
 * one whose last step before, \`settle.after\`, is not there: the server has lost history, or is another one than \`settle.server\` and may have:
 * \`forgot\` says so. A row that a transaction of the application holds is not waited for: \`held\`. A table that others have locked is waited
 * for, less than half of the shortest lease: then the step fails.
 */
function work(ident: string): string {
  return /* sql */ `
create or replace function ${ident}.work(me bigint, step bigint, running_now bigint[] default '{}', since_then bigint[] default '{}', done_shards smallint[] default '{}', done_ids bigint[] default '{}',
  settle jsonb default '{}', mark_shards smallint[] default '{}', mark_ids bigint[] default '{}', wanted_days int[] default '{}', wanted_ids bigint[] default '{}')
returns table (head jsonb, id bigint, received_at bigint, sent_at bigint, source text, signed_by text, signature text, headers jsonb, body bytea)
language plpgsql ${PLANS} set lock_timeout = '900ms' as $$
declare
  held bigint[] := '{}';
  left_over bigint[] := '{}';
  a_day int;
  passed jsonb := '[]';
begin
  -- The row is locked until the last body is sent: if this process is suspended meanwhile, others end the session.
  perform pg_advisory_xact_lock_shared(${stepLockOf(ident, "me")});
  update ${ident}.worker as w set beat = step, running = running_now, since = since_then
  where w.id = me and w.alive and w.beat < step and w.beat >= coalesce((settle->>'after')::bigint, 0)
    and coalesce((settle->>'server')::bigint, ${SERVER}) = ${SERVER};
  if not found then
    return query select jsonb_build_object('alive', false, 'forgot', exists (select from ${ident}.worker as w where w.id = me and w.alive and (w.beat < (settle->>'after')::bigint or (settle->>'server')::bigint <> ${SERVER}))), null::bigint, null::bigint, null::bigint, null::text, null::text, null::text, null::jsonb, null::bytea;
    return;
  end if;

  -- Jobs that are done.
  if done_ids <> '{}' then
    with given as (select * from unnest(done_shards, done_ids) as d (shard, id)),
    mine as (select j.at from given cross join lateral (
      select ctid as at from ${ident}.job where job.shard = given.shard and job.id = given.id for update skip locked offset 0) as j),
    gone as (delete from ${ident}.job using mine where job.ctid = mine.at returning job.id)
    select coalesce(array_agg(given.id), '{}') into left_over from given where given.id not in (select gone.id from gone);
  end if;

  -- Jobs that end otherwise, or wait again. The keys are short: a step may have thousands of them.
  if settle ? 'others' then
    with given as (
      select o.s as shard, o.i as id, o.w as state, o.a as attempts, o.d as deaths, o.g as group_max, o.f as first_attempt_at, o.r as run_at, o.y as delay_ms, o.e as error, o.z as settled_at
      from jsonb_to_recordset(settle->'others') as o (s smallint, i bigint, w text, a int, d int, g int, f bigint, r bigint, y bigint, e jsonb, z bigint)),
    mine as (select j.at, case when given.state = 'unhandled' then ${ident}.heir(me, j.consumer, j.type) end as heir, given.* from given cross join lateral (
      select ctid as at, consumer, type from ${ident}.job where job.shard = given.shard and job.id = given.id for update skip locked offset 0) as j),
    again as (update ${ident}.job set attempts = mine.attempts, deaths = mine.deaths, group_max = mine.group_max, first_attempt_at = mine.first_attempt_at, run_at = mine.run_at, delay_ms = mine.delay_ms, error = mine.error
      from mine where job.ctid = mine.at and mine.state = 'waiting' returning job.id),
    gone as (delete from ${ident}.job using mine where job.ctid = mine.at and mine.state <> 'waiting' and mine.heir is null
      returning job.*, mine.state, mine.attempts as ended_attempts, mine.error as ended_error, mine.settled_at),
    died as (insert into ${ident}.dead select gone.id, day, delivery, entry, type, consumer, account, subscription, gone.received_at, replay_of, ended_attempts, ended_error, settled_at
      from gone where gone.state = 'dead'),
    unhandled_now as (insert into ${ident}.unhandled select gone.id, day, delivery, entry, type, consumer, account, subscription, gone.received_at, replay_of, ended_attempts, ended_error, settled_at
      from gone where gone.state = 'unhandled')
    select left_over || coalesce(array_agg(given.id) filter (where mine.heir is null), '{}'), coalesce(jsonb_agg(jsonb_build_array(given.id, mine.heir)) filter (where mine.heir is not null), '[]')
    into left_over, passed from given left join mine on mine.id = given.id where given.id not in (select again.id from again) and given.id not in (select gone.id from gone);
  end if;

  -- Those of them whose rows are there, but locked by a transaction of the application.
  if cardinality(left_over) > 0 then
    held := array(select given.id from (
      select d.shard, d.id from unnest(done_shards, done_ids) as d (shard, id)
      union all select o.s, o.i from jsonb_to_recordset(settle->'others') as o (s smallint, i bigint)) as given
      where given.id = any (left_over) and exists (select from ${ident}.job where job.shard = given.shard and job.id = given.id));
  end if;

  -- Since when a lane is retried, up to which job; without a time, that is over.
  if settle ? 'windows' then
    insert into ${ident}.lane_window as l (shard, lane, since, up_to, key) select w.s, w.l, w.f, w.u, md5(w.l) from jsonb_to_recordset(settle->'windows') as w (s smallint, l text, f bigint, u bigint)
    where w.f is not null on conflict (shard, key) do update set since = excluded.since, up_to = excluded.up_to;
    delete from ${ident}.lane_window as l using jsonb_to_recordset(settle->'windows') as w (s smallint, l text, f bigint) where l.shard = w.s and l.key = md5(w.l) and w.f is null;
  end if;

  -- Shards that are given up, to any worker or to a named one.
  if settle ? 'leave' then
    update ${ident}.shard as s set owner = null where s.owner = me and s.id in (
      select mine.id from ${ident}.shard as mine where mine.owner = me and settle->'leave' @> to_jsonb(mine.id) for update skip locked);
  end if;

  if settle ? 'pass' then perform ${ident}.pass_on(me, settle->'pass'); end if;

  -- What the worker is to know, then the deliveries that it asked for.
  return query select jsonb_build_object('alive', true, 'gone', array(select m.id from unnest(mark_shards, mark_ids) as m (shard, id)
      where not exists (select from ${ident}.job where job.shard = m.shard and job.id = m.id)), 'left', to_jsonb(left_over), 'held', to_jsonb(held), 'passed', passed,
    'vector', (select coalesce(jsonb_agg(jsonb_build_array(w.id, w.seq, w.first_id, w.last_id)), '[]') from ${ident}.writer as w),
    'shards', (select coalesce(jsonb_agg(s.id), '[]') from ${ident}.shard as s where s.owner = me),
    'removal', (select max(r.id) from ${ident}.removal as r), 'unexpanded', exists (select from ${ident}.unexpanded)),
    null::bigint, null::bigint, null::bigint, null::text, null::text, null::text, null::jsonb, null::bytea;
  -- A partition at a time, which takes one look at its index for each.
  for a_day in select distinct d from unnest(wanted_days || ${KEPT_DAY}) as d where wanted_ids <> '{}' loop
    return query select null::jsonb, d.id, d.received_at, d.sent_at, d.source, d.signed_by, d.signature, d.headers, d.body
      from ${ident}.delivery as d where d.day = a_day and d.id = any (wanted_ids);
  end loop;
end $$;`;
}

/**
 * What was committed since a cut, of some shards. A first row with the new cut, then jobs, whose head is the account. \`known\`: [writer, seq, last id] of each writer;
 * an object of them finds that of a writer without a look at all the others. A commit of a writer that was not missed before is looked for from its own first id on, so that an idle hour is not read again.
 */
function follow(ident: string): string {
  return /* sql */ `
create or replace function ${ident}.follow(shards smallint[], known jsonb)
returns table (head jsonb, shard smallint, id bigint, day int, delivery bigint, entry int, consumer text, lane text, merge_key text, received_at bigint, replay_of bigint, progress jsonb)
language plpgsql ${PLANS} as $$
declare
  cut jsonb;
  known_of jsonb := (select jsonb_object_agg(k->>0, k) from jsonb_array_elements(known) as k);
begin
  select coalesce(jsonb_agg(jsonb_build_array(w.id, w.seq, w.first_id, w.last_id)), '[]') into cut from ${ident}.writer as w;
  return query select jsonb_build_object('vector', cut, 'server', ${SERVER}, 'removal', (select max(r.id) from ${ident}.removal as r), 'unexpanded', exists (select from ${ident}.unexpanded)), null::smallint, null::bigint, null::int, null::bigint, null::int, null::text, null::text, null::text, null::bigint, null::bigint, null::jsonb;
  return query
    with moved as (
      select (w->>0)::bigint as writer, case when (w->>1)::bigint = coalesce((k->>1)::bigint, 0) + 1 then (w->>2)::bigint else coalesce((k->>2)::bigint, 0) end as lo, (w->>3)::bigint as hi
      from (select w, known_of->(w->>0) as k from jsonb_array_elements(cut) as w offset 0) as of_writer
      where (w->>3)::bigint > coalesce((k->>2)::bigint, 0))
    select to_jsonb(j.account), j.shard, j.id, j.day, j.delivery, j.entry, j.consumer, j.lane, j.merge_key, j.received_at, j.replay_of,
      case when j.attempts + j.deaths + j.run_at > 0 or j.error is not null then
        jsonb_build_object('attempts', j.attempts, 'deaths', j.deaths, 'groupMax', j.group_max, 'firstAttemptAt', j.first_attempt_at, 'runAt', j.run_at, 'delayMs', j.delay_ms, 'error', j.error) end
    from moved cross join unnest(shards) as s (shard)
    cross join lateral (select * from ${ident}.job where job.shard = s.shard and job.id > moved.lo and job.id <= moved.hi and job.writer = moved.writer offset 0) as j
    order by j.id;
end $$;`;
}
