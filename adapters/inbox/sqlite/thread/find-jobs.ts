import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { HandledType, JobQuery, JobState } from "../../../../src/adapter.ts";
import { attemptsOnceClaimed } from "../../../../src/inbox/job-state.ts";
import type { FileState } from "./file-state.ts";
import type { JobLists, ListedJob } from "./job-lists.ts";
import type { Ended } from "./job-table.ts";

/** A job as it stands in the file. */
export interface FoundJob {
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
  readonly error: string | null;
  readonly receivedAt: number;
  readonly runAt: number | null;
  readonly settledAt: number | null;
  readonly replayOf: number | null;
}

/** Which jobs, in the order of ids. */
interface FindInput extends JobQuery {
  readonly after: number;
  /** Ids from it on are not looked at. @default none */
  readonly before?: number | undefined;
  readonly limit: number;
}

/** What a page looks at is bounded, so that commits do not wait for it: it may be short, or find nothing. */
export interface FoundPage {
  readonly jobs: readonly FoundJob[];
  /** Where to go on; undefined at the end. */
  readonly next: number | undefined;
}

/** Jobs in the file. Reads only. */
export interface JobFinder {
  find(input: FindInput): FoundPage;
  get(id: number): FoundJob | undefined;
  /** Unhandled jobs of these types, in the order of ids; fewer where bodies are long. A job that has a consumer is only for that one. */
  findUnhandled(page: UnhandledInput): FoundJob[];
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

/** What one table, or the lists, have of a page. */
interface Part {
  readonly jobs: readonly FoundJob[];
  /** All up to this id was looked at. */
  readonly end: number;
}

type OpenRow = Omit<FoundJob, "state" | "settledAt"> & { readonly deaths: number };
type EndedRow = Omit<FoundJob, "lane" | "mergeKey" | "state" | "runAt">;

export function createJobFinder(
  db: DatabaseSync,
  { state, lists }: { readonly state: FileState; readonly lists: JobLists },
): JobFinder {
  const identity = `id, delivery, entry, type, consumer, account, subscription, attempts, error,
    received_at AS receivedAt, replay_of AS replayOf`;
  const columns = {
    job: `${identity}, lane, merge_key AS mergeKey, deaths, nullif(run_at, 0) AS runAt`,
    dead: `${identity}, settled_at AS settledAt`,
    unhandled: `${identity}, settled_at AS settledAt`,
  };
  type Table = keyof typeof columns;
  const byId = {
    job: db.prepare(`SELECT ${columns.job} FROM job WHERE id = ?`),
    dead: db.prepare(`SELECT ${columns.dead} FROM dead WHERE id = ?`),
    unhandled: db.prepare(`SELECT ${columns.unhandled} FROM unhandled WHERE id = ?`),
  };
  const anyRow = db.prepare(
    "SELECT 1 FROM job WHERE id = ? UNION ALL SELECT 1 FROM dead WHERE id = ? UNION ALL SELECT 1 FROM unhandled WHERE id = ?",
  );
  const bodyBytes = db.prepare("SELECT length(body) AS bytes FROM delivery WHERE id = ?");

  /** Rows in the order of ids: the first ones that meet all conditions. */
  function rowsOf(table: Table, conditions: readonly Condition[], limit: number): unknown[] {
    const where = conditions.map(([text]) => text).join(" AND ");
    const values = conditions.flatMap(([, ...given]) => given);
    return db
      .prepare(`SELECT ${columns[table]} FROM ${table} WHERE ${where} ORDER BY id LIMIT ?`)
      .all(...values, limit);
  }

  /** The last id of so many rows; Infinity where there are fewer. */
  function bound(table: Table, after: number): number {
    const row = db.prepare(`SELECT id FROM ${table} WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?`).get(after, LOOKS - 1);
    return row === undefined ? Infinity : Number(row["id"]);
  }

  function rowOf(id: number): FoundJob | undefined {
    const open = byId.job.get(id) as OpenRow | undefined;
    if (open !== undefined) return fromOpen(open);
    for (const table of ["dead", "unhandled"] as const) {
      const row = byId[table].get(id) as EndedRow | undefined;
      if (row !== undefined) return fromEnded(row, table);
    }
    return undefined;
  }

  function fromOpen({ deaths, attempts, ...job }: OpenRow): FoundJob {
    const isRunning = state.mark.has(job.id);
    const begun = isRunning ? attemptsOnceClaimed({ attempts, deaths }) : attempts;
    return { ...job, attempts: begun, state: isRunning ? "running" : "waiting", settledAt: null };
  }

  /** What its row leaves out is in its list. */
  function fromEnded(row: EndedRow, table: Ended): FoundJob {
    const [, , , lane = null, mergeKey = null] = lists.find(row.id)?.line ?? [];
    return { ...row, lane, mergeKey, state: table, runAt: null };
  }

  /** One without a row. */
  function fromLine({ line, ...job }: ListedJob): FoundJob {
    const [entry, type, consumer = null, lane = null, mergeKey = null] = line;
    const isRunning = state.mark.has(job.id);
    const ended = consumer === null ? "skipped" : "done";
    const rest = { attempts: isRunning ? 1 : 0, error: null, runAt: null, settledAt: null, replayOf: null };
    return { ...job, ...rest, entry, type, consumer, lane, mergeKey, state: isRunning ? "running" : ended };
  }

  /** The first ones, whose deliveries are read together: one at least. */
  function fewBytes(rows: readonly EndedRow[]): readonly EndedRow[] {
    const deliveries = new Set<number>();
    let bytes = 0;
    const cut = rows.findIndex(({ delivery }) => {
      if (!deliveries.has(delivery)) bytes += Number(bodyBytes.get(delivery)?.["bytes"]);
      deliveries.add(delivery);
      return deliveries.size > 1 && bytes > PAGE_BYTES;
    });
    return cut === -1 ? rows : rows.slice(0, cut);
  }

  function endedPart(table: Ended, { after, limit, types, accountId, ...query }: FindInput): Part {
    const rest = { ...query, after };
    // An index leads to an account, or to a type, in the order of ids: then nothing is passed over.
    const end = accountId === undefined && types === undefined ? bound(table, after) : Infinity;
    const ways: Condition[][] =
      accountId !== undefined
        ? [[["account = ?", accountId], ...inTypes(types)]]
        : types !== undefined
          ? [...new Set(types)].map((type) => [["type = ?", type]])
          : [[["id <= ?", toSql(end)]]];
    const pages = ways.map((way) => rowsOf(table, [...way, ...conditionsOf(rest)], limit) as EndedRow[]);
    const ends = pages.map((rows) => (rows.length === limit ? (rows.at(-1)?.id ?? after) : Infinity));
    return { jobs: pages.flat().map((row) => fromEnded(row, table)), end: Math.min(...ends, end) };
  }

  function openPart({ after, limit, types, accountId, states, ...query }: FindInput): Part {
    const end = bound("job", after);
    const account: Condition[] = accountId === undefined ? [] : [["account = ?", accountId]];
    const conditions = [
      ["id <= ?", toSql(end)] as const,
      ...account,
      ...inTypes(types),
      ...conditionsOf({ ...query, after }),
    ];
    const jobs = (rowsOf("job", conditions, LOOKS) as OpenRow[]).map(fromOpen);
    return { jobs: jobs.filter((job) => states === undefined || states.includes(job.state)).slice(0, limit), end };
  }

  /** Done and skipped ones, and fresh ones that run: nothing but their lists knows them. */
  function listedPart(input: FindInput): Part {
    const { after, before = Infinity } = input;
    const jobs: FoundJob[] = [];
    let looks = 0;
    for (const { first, lines, ...list } of lists.after(after)) {
      if (first >= before) break;
      // An empty one costs as much as a line: a backlog leaves a million of them in a row.
      if (lines.length === 0) looks += 1;
      if (looks >= LOOKS) return { jobs, end: first - 1 };
      for (const [place, line] of lines.entries()) {
        const id = first + place;
        if (id >= before) return { jobs, end: Infinity };
        if (id <= after) continue;
        looks += 1;
        const job = line === 0 ? undefined : fromLine({ ...list, id, line });
        if (job !== undefined && matches(job, input) && anyRow.get(id, id, id) === undefined) jobs.push(job);
        if (looks === LOOKS) return { jobs, end: id };
      }
    }
    return { jobs, end: Infinity };
  }

  /** Fresh ones that run, where nothing else is asked for that has no row. */
  function freshPart(input: FindInput): Part {
    const jobs = [...state.mark.entries()].flatMap(({ id, isFresh }) => {
      const job = isFresh && id > input.after && id < (input.before ?? Infinity) ? lists.find(id) : undefined;
      return job === undefined ? [] : fromLine(job);
    });
    return { jobs: jobs.filter((job) => matches(job, input)), end: Infinity };
  }

  return {
    find(input) {
      const wants = (...states: JobState[]): boolean =>
        input.states === undefined || states.some((one) => input.states?.includes(one));
      const parts: Part[] = [];
      if (wants("waiting", "running")) parts.push(openPart(input));
      for (const table of ["dead", "unhandled"] as const) if (wants(table)) parts.push(endedPart(table, input));
      if (wants("done", "skipped")) parts.push(listedPart(input));
      else if (wants("running")) parts.push(freshPart(input));
      const end = Math.min(...parts.map((part) => part.end));
      const jobs = parts.flatMap((part) => part.jobs).filter(({ id }) => id <= end);
      const page = jobs.toSorted((a, b) => a.id - b.id).slice(0, input.limit);
      const reached = page.length < jobs.length || page.length === input.limit ? (page.at(-1)?.id ?? end) : end;
      return {
        jobs: page,
        next: reached === Infinity || reached + 1 >= (input.before ?? Infinity) ? undefined : reached,
      };
    },
    get(id) {
      const job = rowOf(id);
      if (job !== undefined) return job;
      const listed = lists.find(id);
      return listed && fromLine(listed);
    },
    findUnhandled({ handled, after, limit }) {
      const consumers = Map.groupBy(handled, ({ type }) => type);
      const pages = [...consumers].map(([type, of]) => {
        const names = JSON.stringify(of.map(({ consumer }) => consumer));
        const isHandled: Condition = ["(consumer IS NULL OR consumer IN (SELECT value FROM json_each(?)))", names];
        return rowsOf("unhandled", [["type = ?", type], isHandled, ["id > ?", after]], limit) as EndedRow[];
      });
      const rows = pages
        .flat()
        .toSorted((a, b) => a.id - b.id)
        .slice(0, limit);
      return fewBytes(rows).map((row) => fromEnded(row, "unhandled"));
    },
  };
}

type Condition = readonly [text: string, ...values: SQLInputValue[]];

/** What no index leads to. */
function conditionsOf(query: Omit<FindInput, "types" | "accountId" | "limit">): Condition[] {
  const { after, before, subscription, consumer, receivedAfter, receivedBefore } = query;
  const all: readonly (readonly [string, SQLInputValue | undefined])[] = [
    ["id > ?", after],
    ["id < ?", before],
    ["subscription = ?", subscription],
    ["consumer = ?", consumer],
    ["received_at > ?", receivedAfter],
    ["received_at < ?", receivedBefore],
  ];
  return all.flatMap(([text, value]): Condition[] => (value === undefined ? [] : [[text, value]]));
}

/** The unary plus keeps SQLite from taking the index on types, which is not in the order of ids. */
function inTypes(types: readonly string[] | undefined): Condition[] {
  return types === undefined ? [] : [["+type IN (SELECT value FROM json_each(?))", JSON.stringify(types)]];
}

function toSql(id: number): number {
  return Math.min(id, Number.MAX_SAFE_INTEGER);
}

/** Whether all that the query asks for holds. */
function matches(job: FoundJob, query: JobQuery): boolean {
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
