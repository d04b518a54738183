import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { HandledType, JobState } from "../../../../src/adapter.ts";
import {
  matches,
  pageOf,
  placeIn,
  WITHOUT_ROW,
  type FindInput,
  type FoundJob,
  type FoundPage,
  type PagePart,
} from "../../../../src/inbox/jobs/found-jobs.ts";
import { attemptsOnceClaimed } from "../../../../src/inbox/job-state.ts";
import { rowsOf, toNumber } from "../schema/columns.ts";
import { OF_GROUP } from "../schema/ended-counts.ts";
import type { FileState } from "../thread/file-state.ts";
import { toJobError } from "../thread/records.ts";
import { createBlockedFinder, type BlockedFinder } from "./find-blocked.ts";
import type { JobLists, ListedJob } from "./job-lists.ts";

/** A job as it stands in the file, with its error as JSON. */
export type FileJob = FoundJob<string>;

/** Jobs in the file. Reads only. */
export interface JobFinder {
  find(input: FindInput): FoundPage<FileJob>;
  get(id: number): FileJob | undefined;
  /** Unhandled jobs of these types, in the order of ids; fewer where bodies are long. A job that has a consumer is only for that one. */
  findUnhandled(page: UnhandledInput): FileJob[];
  readonly blocked: BlockedFinder;
}

interface UnhandledInput {
  readonly handled: readonly HandledType[];
  readonly after: number;
  readonly limit: number;
}

/** Rows, or lines of lists, that a page looks at where no index leads to what it wants. */
const LOOKS = 1_000;
/** Of the bodies that a page of unhandled jobs brings with it. */
const PAGE_BYTES = 4 * 1024 * 1024;

type Part = PagePart<FileJob>;

const NO_PART: Part = { jobs: [], end: Infinity };

/** An id that is looked at, and the job that it may be. */
type Candidate = readonly [id: number, job: FileJob | undefined];

/** A row of a job, whatever its table. */
export type JobRow = FileJob & { readonly deaths: number };

const TABLES = ["job", "dead", "unhandled"] as const;
type Table = (typeof TABLES)[number];

export function createJobFinder(
  db: DatabaseSync,
  { state, lists }: { readonly state: FileState; readonly lists: JobLists },
): JobFinder {
  const columns = `id, ${toNumber("delivery")} AS delivery, ${toNumber("entry")} AS entry, type, consumer, ${toNumber("account")} AS account,
    ${toNumber("subscription")} AS subscription, ${toNumber("attempts")} AS attempts, error, ${toNumber("received_at")} AS receivedAt,
    ${toNumber("replay_of")} AS replayOf`;
  const ended = `${columns}, NULL AS lane, NULL AS mergeKey, NULL AS runAt, ${toNumber("settled_at")} AS settledAt, 0 AS deaths`;
  const select = {
    job: /* sql */ `SELECT ${columns}, 'waiting' AS state, lane, merge_key AS mergeKey, nullif(${toNumber("run_at")}, 0) AS runAt, NULL AS settledAt,
      ${toNumber("deaths")} AS deaths FROM job`,
    dead: `SELECT ${ended}, 'dead' AS state FROM dead`,
    unhandled: `SELECT ${ended}, 'unhandled' AS state FROM unhandled`,
  };
  const byId = TABLES.map((table) => db.prepare(`${select[table]} WHERE id = ?`));
  const anyRow = db.prepare(
    "SELECT 1 FROM job WHERE id = ? UNION ALL SELECT 1 FROM dead WHERE id = ? UNION ALL SELECT 1 FROM unhandled WHERE id = ?",
  );
  const bodyBytes = db.prepare("SELECT length(body) AS bytes FROM delivery WHERE id = ?");

  function* jobsOf(table: Table, rest: string, ...values: readonly SQLInputValue[]): Generator<Candidate> {
    const statement = db.prepare(`${select[table]} WHERE ${rest}`);
    for (const row of rowsOf<JobRow>(statement, ...values)) yield [row.id, fromRow(row)];
  }

  function fromRow({ deaths, ...job }: JobRow): FileJob {
    if (!state.mark.has(job.id)) return job;
    return { ...job, attempts: attemptsOnceClaimed({ attempts: job.attempts, deaths }), state: "running" };
  }

  /** What the row of a job that ended leaves out is in its list. */
  function whole(job: FileJob): FileJob {
    if (job.state !== "dead" && job.state !== "unhandled") return job;
    const [, , , lane = null, mergeKey = null] = lists.find(job.id)?.line ?? [];
    return { ...job, lane, mergeKey };
  }

  /** One without a row. */
  function fromLine({ line, ...job }: ListedJob): FileJob {
    const [entry, type, consumer = null, lane = null, mergeKey = null] = line;
    const isRunning = state.mark.has(job.id);
    const of = consumer === null ? "skipped" : "done";
    const found = { ...job, ...WITHOUT_ROW, entry, type, consumer, lane, mergeKey, state: of } as const;
    return isRunning ? { ...found, attempts: 1, state: "running" } : found;
  }

  /** The first ones, whose deliveries are read together: one at least. */
  function fewBytes(jobs: readonly FileJob[]): readonly FileJob[] {
    const deliveries = new Set<number>();
    let bytes = 0;
    const cut = jobs.findIndex(({ delivery }) => {
      if (!deliveries.has(delivery)) bytes += Number(bodyBytes.get(delivery)?.["bytes"]);
      deliveries.add(delivery);
      return deliveries.size > 1 && bytes > PAGE_BYTES;
    });
    return cut === -1 ? jobs : jobs.slice(0, cut);
  }

  /** The candidates of a table, each list of them in the order of ids. An index leads to an account, or to a type. */
  function tableParts(table: Table, query: FindInput): Part[] {
    const { newestFirst = false, accountId, types, consumer, error } = query;
    const { after, before = newestFirst ? 0 : Number.MAX_SAFE_INTEGER } = query;
    const range = newestFirst ? "id < ? AND id > ? ORDER BY id DESC" : "id > ? AND id < ? ORDER BY id";
    const isIndexed = table !== "job";
    const candidates =
      isIndexed && accountId !== undefined
        ? [jobsOf(table, `account = ? AND ${range}`, accountId, after, before)]
        : isIndexed && types !== undefined
          ? [...new Set(types)].map((type) =>
              table === "dead" && consumer !== undefined && error !== undefined
                ? jobsOf(table, `${OF_GROUP} AND ${range}`, type, consumer, error, after, before)
                : jobsOf(table, `type = ? AND ${range}`, type, after, before),
            )
          : [jobsOf(table, range, after, before)];
    return candidates.map((some) => pick(some, query));
  }

  /** Done and skipped ones, and fresh ones that run: nothing but their lists knows them. */
  function* listed({ after, before = Infinity }: FindInput): Generator<Candidate> {
    for (const { first, lines, ...list } of lists.after(after)) {
      if (first >= before) return;
      // An empty one costs as much as a line: a backlog leaves a million of them in a row.
      if (lines.length === 0) yield [first - 1, undefined];
      for (const [place, line] of lines.entries()) {
        const id = first + place;
        if (id >= before) return;
        if (id > after) yield [id, line === 0 ? undefined : fromLine({ ...list, id, line })];
      }
    }
  }

  /** Fresh ones that run, where nothing else is asked for that has no row. */
  function fresh({ after, before = Infinity }: FindInput): Candidate[] {
    const ids = [...state.mark.entries()].flatMap(({ id, isFresh }) =>
      isFresh && id > after && id < before ? id : [],
    );
    return ids
      .toSorted((a, b) => a - b)
      .map((id): Candidate => {
        const job = lists.find(id);
        return [id, job && fromLine(job)];
      });
  }

  return {
    find(query) {
      const wants = (...states: JobState[]): boolean =>
        query.states === undefined || states.some((one) => query.states?.includes(one));
      const parts: Part[] = [];
      if (wants("waiting", "running")) parts.push(...tableParts("job", query));
      for (const table of ["dead", "unhandled"] as const) if (wants(table)) parts.push(...tableParts(table, query));
      // What is done, or new, has no error.
      if (query.error !== undefined) parts.push(NO_PART);
      else if (wants("done", "skipped"))
        parts.push(pick(listed(query), query, ({ id }) => anyRow.get(id, id, id) === undefined));
      else if (wants("running")) parts.push(pick(fresh(query), query));
      const page = pageOf(parts, query);
      return { ...page, jobs: page.jobs.map(whole) };
    },
    get(id) {
      for (const one of byId) {
        const row = one.get(id) as unknown as JobRow | undefined;
        if (row !== undefined) return whole(fromRow(row));
      }
      const job = lists.find(id);
      return job && fromLine(job);
    },
    findUnhandled({ handled, after, limit }) {
      const consumers = Map.groupBy(handled, ({ type }) => type);
      const isHandled = "(consumer IS NULL OR consumer IN (SELECT value FROM json_each(?)))";
      const found = [...consumers].flatMap(([type, of]) => {
        const names = JSON.stringify(of.map(({ consumer }) => consumer));
        const rest = `type = ? AND ${isHandled} AND id > ? ORDER BY id LIMIT ?`;
        return Array.from(jobsOf("unhandled", rest, type, names, after, limit));
      });
      const jobs = found.flatMap(([, job]) => job ?? []).toSorted((a, b) => a.id - b.id);
      return fewBytes(jobs.slice(0, limit)).map(whole);
    },
    blocked: createBlockedFinder(db, { select: select.job, toJob: fromRow }),
  };
}

/** The first jobs that meet the query, of candidates in the order of ids. */
function pick(candidates: Iterable<Candidate>, query: FindInput, isIt: (job: FileJob) => boolean = () => true): Part {
  const jobs: FileJob[] = [];
  let looks = 0;
  for (const [id, job] of candidates) {
    if (job !== undefined && matches(job, query) && hasError(job, query) && isIt(job)) jobs.push(job);
    looks += 1;
    if (looks === LOOKS || jobs.length === query.limit) return { jobs, end: placeIn(query, { id }) };
  }
  return { jobs, end: Infinity };
}

const hasError = (job: FileJob, { error }: FindInput): boolean =>
  error === undefined || toJobError(job.error)?.name === error;
