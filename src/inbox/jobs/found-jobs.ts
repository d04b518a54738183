import type { JobError } from "../port/claims.ts";
import type { InboxJobs, JobQuery, JobState, StoredJob } from "../port/jobs.ts";

/** A job as it stands in a storage. Times in milliseconds since the epoch. @typeParam E its last error */
export interface FoundJob<E> {
  readonly id: number;
  readonly delivery: number;
  readonly entry: number;
  readonly state: JobState;
  readonly type: string;
  readonly consumer: string | null;
  readonly lane: string | null;
  readonly mergeKey: string | null;
  readonly account: number | null;
  readonly subscription: number | null;
  readonly attempts: number;
  readonly error: E | null;
  readonly receivedAt: number;
  readonly runAt: number | null;
  readonly settledAt: number | null;
  readonly replayOf: number | null;
}

/** Which jobs, in the order of ids. */
export interface FindInput extends JobQuery {
  readonly after: number;
  /** Dead ones alone: from the highest id down. */
  readonly newestFirst?: boolean | undefined;
  /** Ids from it on are not looked at. @default none */
  readonly before?: number | undefined;
  readonly limit: number;
}

/** What a page looks at is bounded, so that nothing else waits for it: it may be short, or find nothing. */
export interface FoundPage<J> {
  readonly jobs: readonly J[];
  /** Where to go on; undefined at the end. */
  readonly next: number | undefined;
}

/** What one table, or the lists of jobs without a row, have of a page. */
export interface PagePart<J> {
  readonly jobs: readonly J[];
  /** All up to this place was looked at: an id, or where the newest is first the id below zero. Infinity: nothing is left. */
  readonly end: number;
}

/** The page of its parts: up to the place up to which each of them was looked at. */
export function pageOf<J extends { readonly id: number }>(
  parts: readonly PagePart<J>[],
  query: Pick<FindInput, "newestFirst" | "before" | "limit">,
): FoundPage<J> {
  const end = Math.min(...parts.map((part) => part.end));
  const found = parts.flatMap(({ jobs }) => jobs).filter((job) => placeIn(query, job) <= end);
  const jobs = found.toSorted((a, b) => placeIn(query, a) - placeIn(query, b)).slice(0, query.limit);
  const last = jobs[query.limit - 1];
  const reached = last === undefined ? end : placeIn(query, last);
  const isEnd = reached === Infinity || reached + 1 >= (query.before ?? Infinity);
  return { jobs, next: isEnd ? undefined : Math.abs(reached) };
}

/** Where a job comes in the order that is asked for. */
export function placeIn(
  { newestFirst = false }: Pick<FindInput, "newestFirst">,
  { id }: { readonly id: number },
): number {
  return newestFirst ? -id : id;
}

/** A job that is done or skipped, of which nothing but a line in the list of its delivery is left. */
export const WITHOUT_ROW = { attempts: 0, error: null, runAt: null, settledAt: null, replayOf: null } as const;

/** Whether all that the query asks for holds, but the name of the error. */
export function matches(job: FoundJob<unknown>, query: JobQuery): boolean {
  const { states, types, accountId, subscription, consumer, receivedAfter, receivedBefore } = query;
  return (
    (states === undefined || states.includes(job.state)) &&
    (types === undefined || types.includes(job.type)) &&
    (accountId === undefined || job.account === accountId) &&
    (subscription === undefined || job.subscription === subscription) &&
    (consumer === undefined || job.consumer === consumer) &&
    (receivedAfter === undefined || job.receivedAt > receivedAfter) &&
    (receivedBefore === undefined || job.receivedAt < receivedBefore)
  );
}

/** Reads pages until there are as many jobs as asked for: a page may be short, or empty. */
export async function readPages<J>(
  { after, limit, ...query }: Parameters<InboxJobs["find"]>[0],
  readPage: (input: FindInput) => Promise<FoundPage<J>>,
): Promise<FoundPage<J>> {
  const jobs: J[] = [];
  let next: number | undefined = toId(after) ?? (query.newestFirst === true ? Number.MAX_SAFE_INTEGER : 0);
  while (next !== undefined && jobs.length < limit) {
    const page: FoundPage<J> = await readPage({ ...query, after: next, limit: limit - jobs.length });
    jobs.push(...page.jobs);
    ({ next } = page);
  }
  return { jobs, next };
}

/** What `InboxJobs.find` resolves with. One job more says whether there is another page. */
export async function findStored<J>(
  query: Parameters<InboxJobs["find"]>[0],
  readPage: (input: FindInput) => Promise<FoundPage<J>>,
  toStored: (job: J) => StoredJob,
): ReturnType<InboxJobs["find"]> {
  const page = await readPages({ ...query, limit: query.limit + 1 }, readPage);
  const jobs = page.jobs.slice(0, query.limit).map(toStored);
  return page.jobs.length > query.limit ? { jobs, next: String(jobs.at(-1)?.id) } : { jobs };
}

/** Undefined for what is no id, such as "0x10", which is another text than that of job 16. */
export function toId(id: string | undefined): number | undefined {
  const number = Number(id);
  return Number.isSafeInteger(number) && number >= 1 && String(number) === id ? number : undefined;
}

export function toStoredJob(job: FoundJob<unknown>, error: JobError | undefined): StoredJob {
  return {
    id: String(job.id),
    deliveryId: String(job.delivery),
    entry: job.entry,
    state: job.state,
    event: undefined,
    type: job.type,
    consumer: job.consumer ?? undefined,
    lane: job.lane ?? undefined,
    attempts: job.attempts,
    error,
    receivedAt: job.receivedAt,
    runAt: job.runAt ?? undefined,
    settledAt: job.settledAt ?? undefined,
    replayOf: job.replayOf === null ? undefined : String(job.replayOf),
  };
}
