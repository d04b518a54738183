import { claimed, FRESH, type JobError, type JobState } from "../../../../src/adapter.ts";
import {
  matches,
  pageOf,
  WITHOUT_ROW,
  type FindInput,
  type FoundJob,
  type FoundPage,
  type PagePart,
} from "../../../../src/inbox/jobs/found-jobs.ts";
import { oneRow } from "../connection/one-row.ts";
import type { Queries } from "../connection/pool.ts";
import { BLOCK, PLANNER_OFF, SHARDS } from "../schema/tables.ts";
import { firstListAfter, linesOf, listedJobs, listsFrom, type ListedJob } from "./job-lists.ts";

/** A job as it stands in the tables. */
export interface TableJob extends FoundJob<JobError> {
  /** Where the delivery was. */
  readonly day: number;
}

type Part = PagePart<TableJob>;

export type OpenRow = Omit<TableJob, "state" | "settledAt"> & { readonly deaths: number };
type EndedRow = Omit<TableJob, "lane" | "mergeKey" | "state" | "runAt">;

/** Lists that are read together: first a few, then more where what is asked for is rare. All of one page are as many as the sum. */
const LISTS: readonly number[] = [100, 500, 1_000, 1_000, 1_000, 1_000];
/** Ids of jobs further apart than a commit and its successor are looked for one by one: what is between them would be read as well. */
const GAP = BLOCK;

const IDENTITY = `id, delivery, day, entry, type, consumer, account, subscription, attempts, error, received_at as "receivedAt", replay_of as "replayOf"`;
export const COLUMNS = {
  job: `${IDENTITY}, lane, merge_key as "mergeKey", deaths, nullif(run_at, 0) as "runAt"`,
  ended: `${IDENTITY}, settled_at as "settledAt"`,
};
const EVERY_SHARD = `generate_series(0, ${SHARDS - 1}) as s (shard)`;

/** For the rest of a transaction. */
export async function planByIndexes(queries: Queries): Promise<void> {
  await queries.query("select set_config(name, 'off', true) from unnest($1::text[]) as name", [PLANNER_OFF]);
}

/** The caller sees to it that all is of one snapshot. */
export async function findPage(queries: Queries, ident: string, input: FindInput): Promise<FoundPage<TableJob>> {
  const { states } = input;
  const wants = (...some: JobState[]): boolean => states === undefined || some.some((state) => states.includes(state));
  const parts: Part[] = [];
  if (wants("waiting", "running")) parts.push(await openPart(queries, ident, input));
  for (const table of ["dead", "unhandled"] as const)
    if (wants(table)) parts.push(await endedPart(queries, ident, { ...input, table }));
  // They have no error.
  if (wants("done", "skipped") && input.error === undefined) parts.push(await listedPart(queries, ident, input));
  const page = pageOf(parts, input);
  return { ...page, jobs: await withLanes(queries, ident, page.jobs) };
}

/** In the order of the ids. Those that are not there are left out. */
export async function findByIds(queries: Queries, ident: string, ids: readonly number[]): Promise<readonly TableJob[]> {
  const running = await runningJobs(queries, ident);
  // One statement, hence one snapshot: a job that ends meanwhile is in one of them.
  const rows = await queries.query<{ readonly source: "job" | "dead" | "unhandled"; readonly row: OpenRow | EndedRow }>(
    /* sql */ `select 'job' as source, to_jsonb(j) as row from ${EVERY_SHARD}
     cross join lateral (select ${COLUMNS.job} from ${ident}.job where job.shard = s.shard and job.id = any ($1) offset 0) as j
     union all select 'dead', to_jsonb(t) from (select ${COLUMNS.ended} from ${ident}.dead where id = any ($1)) as t
     union all select 'unhandled', to_jsonb(t) from (select ${COLUMNS.ended} from ${ident}.unhandled where id = any ($1)) as t`,
    [ids],
  );
  const found = rows.map(({ source, row }) =>
    source === "job" ? fromOpen(row as OpenRow, running) : fromEnded(row as EndedRow, source),
  );
  const known = new Set(found.map(({ id }) => id));
  const listed = await listedJobs(
    queries,
    ident,
    ids.filter((id) => !known.has(id)),
  );
  const all = new Map(
    [...(await withLanes(queries, ident, found)), ...listed.map(fromLine)].map((job) => [job.id, job]),
  );
  return ids.flatMap((id) => all.get(id) ?? []);
}

export async function runningJobs(queries: Queries, ident: string): Promise<ReadonlySet<number>> {
  const { ids } = await oneRow<{ ids: readonly number[] }>(
    queries,
    `select coalesce(jsonb_agg(job), '[]') as ids from ${ident}.worker cross join unnest(running) as job where alive`,
  );
  return new Set(ids);
}

async function openPart(queries: Queries, ident: string, { limit, states, ...query }: FindInput): Promise<Part> {
  const running = await runningJobs(queries, ident);
  const values: unknown[] = [];
  const wants = (state: JobState): boolean => states === undefined || states.includes(state);
  const isOfState =
    wants("waiting") && wants("running")
      ? ""
      : ` and ${wants("waiting") ? "not " : ""}id = any ($${values.push([...running])}::bigint[])`;
  const where = conditions(query, values) + isOfState;
  const most = values.push(limit);
  // Ids grow within a shard: the first of each, then the first of those.
  const rows = await queries.query<OpenRow>(
    /* sql */ `select j.* from ${EVERY_SHARD} cross join lateral (
       select ${COLUMNS.job} from ${ident}.job where job.shard = s.shard and ${where} order by job.id limit $${most}) as j
     order by j.id limit $${most}`,
    values,
  );
  return { jobs: rows.map((row) => fromOpen(row, running)), end: endOf(rows, limit) };
}

async function endedPart(
  queries: Queries,
  ident: string,
  { table, limit, ...query }: FindInput & { readonly table: "dead" | "unhandled" },
): Promise<Part> {
  const values: unknown[] = [];
  const { types, accountId } = query;
  // An index leads to an account, or to a type, in the order of ids.
  const byType = accountId === undefined && types !== undefined;
  const where = conditions(byType ? { ...query, types: undefined } : query, values);
  const most = values.push(limit);
  const order = query.newestFirst === true ? "id desc" : "id";
  const rowsWhere = (more: string): string =>
    `select ${COLUMNS.ended} from ${ident}.${table} as one where ${where}${more} order by ${order} limit $${most}`;
  const rows = await queries.query<EndedRow>(
    byType
      ? `select t.* from unnest($${values.push([...new Set(types)])}::text[]) as of (type) cross join lateral (${rowsWhere(" and one.type = of.type")}) as t order by t.${order} limit $${most}`
      : rowsWhere(""),
    values,
  );
  const end = endOf(rows, limit);
  const jobs = rows.map((row) => fromEnded(row, table));
  return { jobs, end: query.newestFirst === true && end !== Infinity ? -end : end };
}

/** Done and skipped ones: nothing but their lists has them. */
async function listedPart(queries: Queries, ident: string, input: FindInput): Promise<Part> {
  const { after, limit, consumer, types } = input;
  const texts = (consumer === undefined ? types : [consumer])?.map((text) => JSON.stringify(text));
  const jobs: TableJob[] = [];
  let first = await firstListAfter(queries, ident, after);
  let end = after;
  for (const most of LISTS) {
    if (jobs.length >= limit) break;
    const lists = await listsFrom(queries, ident, { first, limit: most, conditions: { ...input, texts } });
    const candidates = lists
      .flatMap(({ first: begin, lines, ...list }) =>
        lines.flatMap((line, place) =>
          line === undefined || begin + place <= after ? [] : fromLine({ ...list, id: begin + place, line }),
        ),
      )
      .filter((job) => matches(job, input));
    const open = await unsettledIds(queries, ident, candidates);
    jobs.push(...candidates.filter(({ id }) => !open.has(id)));
    const last = lists.at(-1);
    if (last === undefined || lists.length < most) return { jobs, end: Infinity };
    first = last.first + 1;
    end = last.first + Math.max(last.lines.length, 1) - 1;
  }
  return { jobs, end };
}

/** Which of some jobs, in the order of ids, have a row. */
async function unsettledIds(
  queries: Queries,
  ident: string,
  jobs: readonly { readonly id: number }[],
): Promise<ReadonlySet<number>> {
  if (jobs.length === 0) return new Set();
  const ranges: { first: number; last: number }[] = [];
  for (const { id } of jobs) {
    const range = ranges.at(-1);
    if (range !== undefined && id - range.last <= GAP) range.last = id;
    else ranges.push({ first: id, last: id });
  }
  const rows = await queries.query<{ ids: readonly number[] }>(
    /* sql */ `with of as (select * from jsonb_to_recordset($1) as r (first bigint, last bigint)),
     -- Most that is settled is older than all that is open.
     shards as materialized (
       select s.shard, open.low, open.high from ${EVERY_SHARD} cross join lateral (
         select min(id) as low, max(id) as high from ${ident}.job where job.shard = s.shard) as open where open.low is not null),
     found as (
       select t.id from of join shards as s on of.last >= s.low and of.first <= s.high cross join lateral (
         select id from ${ident}.job where job.shard = s.shard and job.id between of.first and of.last offset 0) as t
       union all select t.id from of cross join lateral (select id from ${ident}.dead where id between of.first and of.last offset 0) as t
       union all select t.id from of cross join lateral (select id from ${ident}.unhandled where id between of.first and of.last offset 0) as t)
     select coalesce(jsonb_agg(id), '[]') as ids from found`,
    [JSON.stringify(ranges)],
  );
  return new Set(rows[0]?.ids);
}

/** What their rows leave out is in their lists. */
async function withLanes(queries: Queries, ident: string, jobs: readonly TableJob[]): Promise<TableJob[]> {
  const lines = await linesOf(
    queries,
    ident,
    jobs.filter(({ state }) => state === "dead" || state === "unhandled"),
  );
  return jobs.map((job) => {
    const [, , , lane = null, mergeKey = null] = lines.get(job.id) ?? [];
    return lines.has(job.id) ? { ...job, lane, mergeKey } : job;
  });
}

export function fromOpen({ deaths, attempts, ...job }: OpenRow, running: ReadonlySet<number>): TableJob {
  const isRunning = running.has(job.id);
  const begun = isRunning ? claimed({ ...FRESH, attempts, deaths }, 0).attempts : attempts;
  return { ...job, attempts: begun, state: isRunning ? "running" : "waiting", settledAt: null };
}

function fromEnded(row: EndedRow, state: "dead" | "unhandled"): TableJob {
  return { ...row, lane: null, mergeKey: null, state, runAt: null };
}

/** One without a row. */
function fromLine({ line, ...job }: ListedJob): TableJob {
  const [entry, type, consumer = null, lane = null, mergeKey = null] = line;
  const state = consumer === null ? "skipped" : "done";
  return { ...job, ...WITHOUT_ROW, entry, type, consumer, lane, mergeKey, state };
}

/** SQL of all conditions but those on states. Adds to the values. */
function conditions(query: Omit<FindInput, "limit">, values: unknown[]): string {
  const all: readonly (readonly [string, unknown])[] = [
    [query.newestFirst === true ? "id < ?" : "id > ?", query.after],
    ["account = ?", query.accountId],
    ["type = any (?)", query.types],
    ["subscription = ?", query.subscription],
    // Those of dead jobs are in an index, by their hashes.
    ["md5(consumer) = md5(?::text)", query.consumer],
    ["md5(error ->> 'name') = md5(?::text)", query.error],
    ["received_at > ?", query.receivedAfter],
    ["received_at < ?", query.receivedBefore],
  ];
  return all
    .flatMap(([text, value]) => (value === undefined ? [] : text.replace("?", `$${values.push(value)}`)))
    .join(" and ");
}

function endOf(rows: readonly { readonly id: number }[], limit: number): number {
  return rows[limit - 1]?.id ?? Infinity;
}
