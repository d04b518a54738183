import { endedCountsOf, OF_GROUP } from "./ended-counts.ts";

/** What a schema has that this Hookline made. */
export const SCHEMA_VERSION = 7;

/** A lane's jobs are in one shard, and a shard is worked by one process. The last one is not of lanes: its owner expands deliveries. */
export const SHARDS = 64;
export const EXPANDER = 64;

/** Ids of one commit are of one block of the sequence: those of a delivery's jobs follow its own. */
export const BLOCK = 4_096;

/** The partition of deliveries that outlived their day, because a job refers to them. */
export const KEPT_DAY = 0;

/** The day by the server's clock. Without `floor`, a cast would round: the afternoon would be the next day. */
export const TODAY = "floor(extract(epoch from clock_timestamp()) / 86400)::int";

/** The quoted name of the schema inside a literal of SQL: it may have an apostrophe. */
export function inLiteral(ident: string): string {
  return ident.replaceAll("'", "''");
}

/** The advisory lock that each step of a worker shares until its transaction ends: so others can see in which sessions one is under way. */
export function stepLockOf(ident: string, worker: string): string {
  return `hashtextextended('hookline step ${inLiteral(ident)} ' || ${worker}, 0)`;
}

/** The one that each transaction of the application shares in which a worker's jobs are completed. */
export function transactionLockOf(ident: string, worker: string): string {
  return `hashtextextended('hookline transaction ${inLiteral(ident)} ' || ${worker}, 0)`;
}

/** When the server started: after a fail-over it is another one, which may lack what was confirmed last and give its ids anew. */
export const SERVER = "(extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint";

/** Which database of which server, in words: ids of one say nothing in another. */
export const DATABASE = `(current_database()::text || to_char(pg_postmaster_start_time() at time zone 'UTC', ' "(server started" YYYY-MM-DD HH24:MI:SS.US")"'))`;

/** Version 2: counts of what ended, indexes of what failed; and a lane of any length has a window. Who waits for the row of the version has no lock on windows yet. */
export function hashLaneWindows(ident: string): string {
  return `
  perform 1 from ${ident}.meta where key = 'version' for update;
  alter table ${ident}.lane_window add column key text not null generated always as (md5(lane)) stored, drop constraint lane_window_pkey, add primary key (shard, key);
  ${endedCountsOf(ident)}`;
}

/** key: a hash, since an index takes no text of more than 2.7 kB. value: JSON of the pause. The other columns are for who counts jobs. */
const pauseOf = (ident: string): string =>
  `create table if not exists ${ident}.pause (key text primary key, value text not null, account bigint, consumer text, until_at bigint);`;

/**
 * Version 3: the tables may be in a publication, which takes no change of a row whose key is generated, and of none without a key; and a
 * consumer of any length may have dead jobs. Jobs may be paused.
 */
export function makePublishable(ident: string): string {
  return `
  perform 1 from ${ident}.meta where key = 'version' for update;
  alter table ${ident}.lane_window alter column key drop expression if exists;
  if not exists (select from pg_constraint where conrelid = '${inLiteral(ident)}.ended_count'::regclass and contype = 'p') then
    alter table ${ident}.ended_count add column id bigint generated always as identity primary key;
  end if;
  drop index if exists ${ident}.dead_type_consumer_md5_id_idx;
  create index if not exists dead_of_group on ${ident}.dead ${OF_GROUP};
  ${pauseOf(ident)}
  ${keyValuesOf(ident)}`;
}

/**
 * Versions 4, 5 and 7: the functions alone. A step can be seen in the locks of the server; lists of jobs move with their deliveries; of many lists of
 * one delivery a removal reads those of its jobs.
 */
export const changeFunctions = (): string => "null;";

/** Version 6: what lanes inherited is swept after a removal, and not while it locks the workers. */
export const sweepLater = (ident: string): string => `drop function if exists ${ident}.sweep_windows(jsonb);`;

/** Texts of other modules, such as the tokens of delta syncs. key: a hash of the text's own, since an index takes no text of more than 2.7 kB. account: with which it is erased, if with any. */
const keyValuesOf = (ident: string): string => /* sql */ `
  create table if not exists ${ident}.key_value (key text primary key, account bigint, value text not null);
  create index if not exists key_value_account on ${ident}.key_value (account) where account is not null;`;

/** @param ident the quoted name of the schema */
export function tablesOf(ident: string): string {
  const ended = (name: "dead" | "unhandled"): string => /* sql */ `
  create table ${ident}.${name} (
    id bigint primary key, day int not null, delivery bigint not null, entry int not null, type text not null, consumer text,
    account bigint, subscription bigint, received_at bigint not null, replay_of bigint, attempts int not null, error jsonb,
    settled_at bigint not null
  );
  create index on ${ident}.${name} (type, id);
  create index on ${ident}.${name} (account, id);
  create index on ${ident}.${name} (settled_at);
  create index on ${ident}.${name} (day, delivery);`;
  return /* sql */ `
  create table ${ident}.meta (key text primary key, value text not null);

  -- Of deliveries and jobs. Cache 1: ids that a process has in stock would break the order between processes.
  create sequence ${ident}.block cache 1;

  -- A process that stores. Its commits are serial, so that (id, last_id) of all rows is an exact cut. seq counts them.
  create table ${ident}.writer (
    id bigint generated always as identity primary key, seq bigint not null default 0, first_id bigint not null default 0,
    last_id bigint not null default 0, used_at timestamptz not null default clock_timestamp()
  ) with (fillfactor = 20);

  -- A process that works: beat is its heartbeat, alive its fence. running: the jobs whose handlers may run; since: their first attempts.
  -- Both in the row as long as they fit, so that a heartbeat changes no other table. handled: lists of types by consumer; out of line, since each
  -- heartbeat writes the row anew. present: it holds an advisory lock, so that one that is free says that its process is gone.
  create table ${ident}.worker (
    id bigint generated always as identity primary key, beat bigint not null default 0, alive boolean not null default true,
    running bigint[] not null default '{}', since bigint[] not null default '{}', handled jsonb,
    present boolean not null default false
  ) with (fillfactor = 20, toast_tuple_target = 128);
  alter table ${ident}.worker alter column running set storage main, alter column since set storage main, alter column handled set storage external;

  -- refused: workers that lack a handler for something in it, and leave it to others while one lives.
  create table ${ident}.shard (id smallint primary key, owner bigint, refused bigint[] not null default '{}') with (fillfactor = 20);
  insert into ${ident}.shard select generate_series(0, ${SHARDS});

  -- What was received, byte for byte. jobs: the list of the jobs that were made with it, with ids from its own + 1 on; absent: places of that list
  -- whose job does not exist (any more). A job that is listed, not absent, and in none of job, dead and unhandled, is done (skipped without a
  -- consumer). day: of the server's clock, or ${KEPT_DAY}.
  create table ${ident}.delivery (
    day int not null, id bigint not null, received_at bigint not null, sent_at bigint not null, source text, signed_by text not null,
    signature text not null, headers jsonb not null, account bigint, subscription bigint, jobs text, absent int[] not null default '{}',
    body bytea not null, primary key (id, day)
  ) partition by list (day);
  create index on ${ident}.delivery (account, id);

  -- Lists of jobs that were made later than their delivery: when it was expanded, or replayed.
  create table ${ident}.job_list (
    day int not null, first_job bigint not null, delivery bigint not null, account bigint, subscription bigint, jobs text not null,
    absent int[] not null default '{}', primary key (first_job, day)
  ) partition by list (day);
  create index on ${ident}.job_list (delivery, first_job);
  create index on ${ident}.job_list (account, first_job);

  create table ${ident}.delivery_kept partition of ${ident}.delivery for values in (${KEPT_DAY});
  create table ${ident}.job_list_kept partition of ${ident}.job_list for values in (${KEPT_DAY});

  -- Deliveries with entries that are not jobs yet. cursor: the entry to go on with.
  create table ${ident}.unexpanded (delivery bigint primary key, day int not null, cursor int not null, received_at bigint not null);

  -- Open jobs. One index: lanes are in the memory of the process that owns the shard.
  create table ${ident}.job (
    shard smallint not null, id bigint not null, writer bigint not null, day int not null, delivery bigint not null, entry int not null,
    type text not null, consumer text not null, lane text, merge_key text, account bigint, subscription bigint, received_at bigint not null,
    replay_of bigint, attempts int not null default 0, deaths int not null default 0, group_max int, first_attempt_at bigint,
    run_at bigint not null default 0, delay_ms bigint not null default 0, error jsonb, primary key (shard, id)
  ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);

  -- What a lane has inherited: when the first attempt was of a job that died of its window, for those up to an id that waited behind it.
  -- key: the hash of the lane, since an index takes no text of more than 2.7 kB.
  create table ${ident}.lane_window (
    shard smallint not null, lane text not null, since bigint not null, up_to bigint not null, key text not null, primary key (shard, key)
  );
  ${ended("dead")}
  ${ended("unhandled")}
  ${endedCountsOf(ident)}

  -- Natural keys of tracking and booking, hashed to 16 bytes.
  create table ${ident}.dedupe (key bytea primary key, seen_at bigint not null);
  create index on ${ident}.dedupe (seen_at);

  -- source '' with any_source: for every source.
  create table ${ident}.tombstone (
    subscription bigint not null, source text not null, any_source boolean not null, reason text not null, since bigint not null,
    last_hit bigint not null, primary key (subscription, any_source, source)
  );

  -- What the newest lifecycle notice said of each resource of a subscription; error: null where it works.
  create table ${ident}.subscription (
    seq bigint generated always as identity, key text primary key, subscription bigint not null, account bigint not null,
    resource text not null, source text, error text, sent_at bigint not null
  );

  -- What subscriptions delivered, and where something of it may be missing: a gap goes from from_at, null where there is none, until until_at, null
  -- where it goes on. seen_at: of the last delivery. told_at: of the last error or its end. The last mark of a process that was alive is in meta.
  -- key: a hash of the account, source, subscription and resource.
  create table ${ident}.subscribed_resource (
    account bigint not null, key text collate "C" not null, source text, subscription bigint not null, resource text not null,
    family text not null, seen_at bigint not null, told_at bigint not null default 0, cause text, from_at bigint, until_at bigint,
    primary key (account, key)
  );
  create index on ${ident}.subscribed_resource (subscription);
  create index on ${ident}.subscribed_resource (seen_at) where from_at is null;
  create index on ${ident}.subscribed_resource (account, key) where from_at is not null;

  -- Jobs that were removed by hand: the owners of their shards take them out of their memory. Kept for an hour.
  create table ${ident}.removal (id bigint generated always as identity primary key, jobs bigint[] not null, at timestamptz not null default clock_timestamp());

  ${pauseOf(ident)}

  ${keyValuesOf(ident)}

  insert into ${ident}.meta values ('version', '${SCHEMA_VERSION}');
`;
}

/** A queue table has statistics that are never right: plans go by its index, whatever they say. None is compiled: it has a part for each day. */
export const PLANNER_OFF: readonly string[] = ["enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"];
export const PLANS: string = PLANNER_OFF.map((name) => `set ${name} = off`).join(" ");
