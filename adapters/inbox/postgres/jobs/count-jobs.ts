import {
  countedStates,
  MOST_COUNTED,
  toSummary,
  type BlockedQuery,
  type CountedGroup,
  type JobQuery,
  type JobSummary,
} from "../../../../src/adapter.ts";
import type { Queries } from "../connection/pool.ts";
import { MOST_UNFOLDED } from "../schema/ended-counts.ts";
import { COLUMNS, fromOpen, runningJobs, type TableJob, type OpenRow } from "./find-jobs.ts";

/** Undefined for a query that the counts cannot answer. @param fold called where there are many rows of counts for each group */
export async function countJobs(
  { queries, ident, fold }: { readonly queries: Queries; readonly ident: string; readonly fold: () => void },
  query: JobQuery,
): Promise<JobSummary | undefined> {
  const states = countedStates(query);
  if (states === undefined) return undefined;
  const { types, consumer, error } = query;
  const rows = await queries.query<CountedGroup & { readonly rows: number }>(
    /* sql */ `select type, consumer, error, sum(n)::bigint as count, max(newest_at) as "newestAt", sum(count(*)) over ()::bigint as rows from ${ident}.ended_count
     where state = any ($1) and ($2::text[] is null or type = any ($2)) and ($3::text is null or consumer = $3) and ($4::text is null or error = $4)
     group by 1, 2, 3 having sum(n) > 0 order by 4 desc, 1, 2, 3 limit ${MOST_COUNTED}`,
    [states, types ?? null, consumer ?? null, error ?? null],
  );
  if (Number(rows[0]?.rows) > rows.length + MOST_UNFOLDED) fold();
  return toSummary(rows);
}

/** Waiting jobs that are looked at for those behind the heads of a page, each in the shard of its head: no index leads to a lane. */
const BEHIND_LOOKS = 10_000;

export async function findBlocked(
  queries: Queries,
  ident: string,
  { now, after, limit }: BlockedQuery,
): Promise<readonly { readonly job: TableJob; readonly behind: number }[]> {
  const running = await runningJobs(queries, ident);
  const place = after === undefined ? [now, Number.MAX_SAFE_INTEGER] : [after.runAt, Number(after.id)];
  const rows = await queries.query<OpenRow & { readonly behind: number }>(
    /* sql */ `with heads as materialized (
       select shard, ${COLUMNS.job} from ${ident}.job as j where run_at > 0 and (run_at, id) > ($1, $2) and id <> all ($3::bigint[])
         and not exists (select from ${ident}.job as e where e.shard = j.shard and e.run_at > 0 and md5(e.lane) = md5(j.lane) and e.id < j.id)
       order by run_at, id limit $4)
     select h.*, (select count(*) from (
       select lane from ${ident}.job as b where b.shard = h.shard and b.id > h.id order by b.id limit $5) as b where b.lane = h.lane)::int as behind
     from heads as h order by "runAt", id`,
    [...place, [...running], limit, Math.ceil(BEHIND_LOOKS / limit)],
  );
  return rows.map(({ behind, ...row }) => ({ job: fromOpen(row, running), behind }));
}
