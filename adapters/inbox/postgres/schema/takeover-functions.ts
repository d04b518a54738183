import { MOST_DEATHS, SUSPECT_DEATHS } from "../../../../src/adapter.ts";
import { PLANS, SHARDS } from "./tables.ts";

/**
 * How work goes from a worker to others. In functions: who asks for it may vanish in the middle, and must leave no lock behind.
 * @param ident the quoted name of the schema
 */
export function takeoverFunctionsOf(ident: string): string {
  return [takeOver, freeOrphans].map((body) => body(ident)).join("\n");
}

/**
 * Ends a worker whose heart still stands at \`at_beat\`; null: this process's own. \`died\`: what it ran counts a death. A row that another
 * transaction holds is left to that one, or to the next look. Jobs and shards that a transaction of the application holds are left out: it may be
 * open for long, and all others would wait. Gives whether it did.
 */
function takeOver(ident: string): string {
  return /* sql */ `
create or replace function ${ident}.take_over(worker_id bigint, at_beat bigint, now_ms bigint, died boolean) returns boolean language plpgsql ${PLANS} set lock_timeout = '5s' as $$
declare
  ran bigint[];
  begun bigint[];
  -- By id: a worker may run hundreds of calls of a thousand jobs each.
  first_of jsonb;
begin
  -- Whatever the role or the database say: a death that a crash forgets would not count.
  if current_setting('synchronous_commit') = 'off' then perform set_config('synchronous_commit', 'on', true); end if;
  -- Its own last step may be under way.
  if at_beat is null then perform 1 from ${ident}.worker where id = worker_id for no key update; end if;
  select running, since into ran, begun from ${ident}.worker where id = worker_id and alive and (at_beat is null or beat = at_beat) for no key update skip locked;
  if not found then return false; end if;
  update ${ident}.worker set alive = false where id = worker_id;

  if died and ran <> '{}' then
    select jsonb_object_agg(id, first) into first_of from unnest(ran, begun) as r (id, first) where id is not null;
    -- orphaned(claimed(job)) of src/inbox/job-state.ts in SQL; a test compares the two.
    with mine as materialized (
      select j.*, least(j.first_attempt_at, coalesce((first_of->>j.id::text)::bigint, now_ms)) as first from generate_series(0, ${SHARDS - 1}) as s (shard)
      cross join lateral (select ctid as at, * from ${ident}.job where job.shard = s.shard and job.id = any (ran) for update skip locked offset 0) as j),
    suspects as (select count(*) as number, ceil(count(*) / 2.0)::int as half from mine where deaths >= ${SUSPECT_DEATHS})
    update ${ident}.job set attempts = mine.attempts + case when mine.deaths < ${MOST_DEATHS} then 1 else 0 end,
      deaths = mine.deaths + case when mine.deaths >= ${SUSPECT_DEATHS} and suspects.number > 1 then 0 else 1 end,
      group_max = case when mine.deaths >= ${SUSPECT_DEATHS} then least(coalesce(mine.group_max, suspects.half), suspects.half) end,
      first_attempt_at = mine.first, run_at = 0, delay_ms = 0
    from mine cross join suspects where job.ctid = mine.at;
  end if;

  update ${ident}.shard set owner = null where id in (select id from ${ident}.shard where owner = worker_id for update skip locked);
  return true;
end $$;`;
}

/** Shards that a dead worker could not give back at once. */
function freeOrphans(ident: string): string {
  const isOrphan = `s.owner is not null and not exists (select from ${ident}.worker as w where w.id = s.owner and w.alive)`;
  return /* sql */ `
create or replace function ${ident}.free_orphans() returns void language plpgsql ${PLANS} as $$
declare
  ids smallint[];
begin
  if not exists (select from ${ident}.shard as s where ${isOrphan}) then return; end if;
  ids := array(select s.id from ${ident}.shard as s where ${isOrphan} for update skip locked);
  -- A second statement sees the worker that took one since the first began: to that one, which locked its row, it was not there.
  update ${ident}.shard as s set owner = null where s.id = any (ids) and ${isOrphan};
end $$;`;
}
