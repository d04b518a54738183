import type { NewJob, Reopened, SingleEvent } from "../../../../src/adapter.ts";
import type { Queries } from "../connection/pool.ts";
import type { Make } from "../store/writer.ts";
import { REMOVED } from "../schema/body-functions.ts";
import { findByIds, planByIndexes, type TableJob } from "./find-jobs.ts";
import { listedJobs } from "./job-lists.ts";

/** A job that takes the place of another one. */
export type Replacement = Pick<NewJob, "consumer" | "lane" | "mergeKey"> & {
  readonly replayOf: number | null;
  /** As the event says now. */
  readonly event?: SingleEvent | undefined;
};

/** Ids of one call are of one block. */
const MOST_MADE = 4_000;

/** A new job for each, at the tail of its lane. Takes settled and unhandled ones that have a consumer. */
export function replayOf({ id, consumer, lane, mergeKey, replayOf: first }: TableJob): readonly Replacement[] {
  if (consumer === null) return [];
  const again = { consumer, lane: lane ?? undefined, mergeKey: toReplayKey(mergeKey ?? undefined) };
  return [{ ...again, replayOf: first ?? id }];
}

/** Unhandled jobs become jobs of their current consumers. */
export function reopenedAs(
  { state, replayOf: first }: TableJob,
  { jobs = [], event }: Partial<Reopened> = {},
): readonly Replacement[] {
  if (state !== "unhandled") return [];
  const toKey = (key: string | undefined): string | undefined => (first === null ? key : toReplayKey(key));
  return jobs.map(({ consumer, lane, mergeKey }) => ({
    consumer,
    lane,
    mergeKey: toKey(mergeKey),
    replayOf: first,
    event,
  }));
}

/**
 * Settled and unhandled jobs with others that replace them, in one transaction. Those that another transaction has meanwhile are skipped.
 * The order of locks is in `schema/removal-functions.ts`. @returns how many were made
 */
export async function replaceJobs(
  { queries, make, ident }: { readonly queries: Queries; readonly make: Make; readonly ident: string },
  ids: readonly number[],
  replacementsOf: (old: TableJob) => readonly Replacement[],
): Promise<number> {
  await planByIndexes(queries);
  const days = await lockDeliveries(queries, ident, ids);
  const found = await findByIds(queries, ident, ids);
  const planned = found.flatMap((old) => {
    const day = days.get(old.delivery);
    if (day === undefined || old.state === "waiting" || old.state === "running") return [];
    const made = replacementsOf(old);
    return made.length === 0 ? [] : { old: { ...old, day }, made };
  });
  const rows = planned.filter(({ old: { state } }) => state === "dead" || state === "unhandled");
  const removed = await removeRows(
    queries,
    ident,
    rows.map(({ old }) => old),
  );
  const jobs = planned.flatMap(({ old, made }) =>
    (old.state === "dead" || old.state === "unhandled") && !removed.has(old.id)
      ? []
      : made.map(({ consumer = "", lane, mergeKey, replayOf: first, event }) => {
          const { delivery, day, entry, receivedAt } = old;
          const { type, accountId: account = null, subscription = null } = event ?? { ...old, accountId: old.account };
          const origin = { delivery, day, entry, type, account, subscription, receivedAt };
          return { ...origin, consumer, lane, mergeKey, replayOf: first ?? undefined };
        }),
  );
  for (let place = 0; place < jobs.length; place += MOST_MADE) await make(jobs.slice(place, place + MOST_MADE));
  return jobs.length;
}

/** Nothing else changes lists of these deliveries, or erases them, until the transaction ends. @returns the days of those that have a body */
async function lockDeliveries(
  queries: Queries,
  ident: string,
  ids: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const rows = await queries.query<{ delivery: number }>(
    `select delivery from ${ident}.dead where id = any ($1) union select delivery from ${ident}.unhandled where id = any ($1)`,
    [ids],
  );
  const listed = await listedJobs(queries, ident, ids);
  const deliveries = [...new Set([...rows, ...listed].map(({ delivery }) => delivery))];
  const locked = await queries.query<{ id: number; day: number; has_body: boolean }>(
    `select id, day, headers <> ${REMOVED} as has_body from ${ident}.delivery where id = any ($1) order by id for no key update`,
    [deliveries],
  );
  return new Map(locked.flatMap(({ id, day, has_body: hasBody }) => (hasBody ? [[id, day] as const] : [])));
}

/** @returns those that were there */
async function removeRows(queries: Queries, ident: string, jobs: readonly TableJob[]): Promise<ReadonlySet<number>> {
  if (jobs.length === 0) return new Set();
  const rows = await queries.query<{ id: number }>(
    /* sql */ `with dead_now as (delete from ${ident}.dead where id in (select id from ${ident}.dead where id = any ($1) for update skip locked) returning id),
     unhandled_now as (delete from ${ident}.unhandled where id in (select id from ${ident}.unhandled where id = any ($1) for update skip locked) returning id)
     select id from dead_now union all select id from unhandled_now`,
    [jobs.map(({ id }) => id)],
  );
  const removed = new Set(rows.map(({ id }) => id));
  const gone = jobs.filter(({ id }) => removed.has(id)).map(({ id, delivery, day }) => [id, delivery, day]);
  await queries.query(`select ${ident}.mark_absent($1)`, [JSON.stringify(gone)]);
  return removed;
}

/** Replays merge with replays only. */
function toReplayKey(mergeKey: string | undefined): string | undefined {
  return mergeKey === undefined || mergeKey.startsWith("replay:") ? mergeKey : `replay:${mergeKey}`;
}
