import { oneRow } from "../connection/one-row.ts";
import type { Queries } from "../connection/pool.ts";
import { KEPT_DAY } from "../schema/tables.ts";

/** What a list says of a job. */
export type Line = readonly [
  entry: number,
  type: string,
  /** Absent where no consumer handled it. */
  consumer?: string,
  lane?: string | null,
  mergeKey?: string | null,
];

/** The jobs of one delivery that were made in one commit: their ids follow each other. */
export interface JobList {
  /** The id of the first line. */
  readonly first: number;
  readonly delivery: number;
  readonly day: number;
  readonly account: number | null;
  readonly subscription: number | null;
  readonly receivedAt: number;
  /** Undefined: a duplicate, or a job that was removed or replaced. */
  readonly lines: readonly (Line | undefined)[];
}

/** A job as its list has it, whatever has become of it. */
export interface ListedJob extends Omit<JobList, "first" | "lines"> {
  readonly id: number;
  readonly line: Line;
}

/** Lists are chosen by what stands beside them, and by a text that their lines have. */
export interface ListConditions {
  readonly accountId?: number | undefined;
  readonly subscription?: number | undefined;
  readonly receivedAfter?: number | undefined;
  readonly receivedBefore?: number | undefined;
  /** JSON: a line has one of them. A list without a job of it may come all the same. */
  readonly texts?: readonly string[] | undefined;
}

/** The first place at which a list begins that may have a job behind \`after\`: each id is in the list that begins last before it. */
export async function firstListAfter(queries: Queries, ident: string, after: number): Promise<number> {
  const { first } = await oneRow<{ first: number | null }>(
    queries,
    /* sql */ `select greatest((select id + 1 from ${ident}.delivery where id <= $1 order by id desc limit 1),
       (select first_job from ${ident}.job_list where first_job <= $1 + 1 order by first_job desc limit 1)) as first`,
    [after],
  );
  return first ?? 0;
}

/** The first lists from a place on, in the order of ids. */
export async function listsFrom(
  queries: Queries,
  ident: string,
  page: { readonly first: number; readonly limit: number; readonly conditions: ListConditions },
): Promise<readonly JobList[]> {
  const { accountId, subscription, receivedAfter, receivedBefore, texts } = page.conditions;
  const values: unknown[] = [page.first, page.limit];
  const conditionsFor = (list: "d" | "l"): string =>
    [
      [`${list}.account = ?`, accountId],
      [`${list}.subscription = ?`, subscription],
      ["d.received_at > ?", receivedAfter],
      ["d.received_at < ?", receivedBefore],
      [`exists (select from unnest(?::text[]) as wanted (text) where strpos(${list}.jobs, wanted.text) > 0)`, texts],
    ]
      .map(([text, value]) =>
        value === undefined ? "" : ` and ${String(text).replace("?", `$${values.push(value)}`)}`,
      )
      .join("");
  const rows = await queries.query<Stored>(
    /* sql */ `select * from (
       (select d.id + 1 as first, ${COLUMNS("d")} from ${ident}.delivery as d
        where d.id >= $1 - 1 and d.jobs is not null${conditionsFor("d")} order by d.id limit $2)
       union all
       (select l.first_job as first, ${COLUMNS("l")} from ${ident}.job_list as l
        cross join lateral (select received_at from ${ident}.delivery as one where one.id = l.delivery and one.day in (l.day, ${KEPT_DAY}) limit 1) as d
        where l.first_job >= $1${conditionsFor("l")} order by l.first_job limit $2)
     ) as lists order by first limit $2`,
    values,
  );
  return rows.map(parse);
}

/** The jobs with these ids as their lists have them. Each list is read once: it may be long. */
export async function listedJobs(
  queries: Queries,
  ident: string,
  ids: readonly number[],
): Promise<readonly ListedJob[]> {
  if (ids.length === 0) return [];
  const rows = await queries.query<Stored & { readonly ids: readonly number[] }>(
    /* sql */ `with placed as materialized (select given.id, list.* from unnest($1::bigint[]) as given (id) cross join lateral (
       select * from (
         (select d.id + 1 as first, d.id as delivery, d.day, true as is_own from ${ident}.delivery as d where d.id < given.id order by d.id desc limit 1)
         union all
         (select l.first_job, l.delivery, l.day, false from ${ident}.job_list as l where l.first_job <= given.id order by l.first_job desc limit 1)
       ) as lists order by first desc limit 1) as list)
     select of.ids, of.first, list.* from (select jsonb_agg(id) as ids, first, delivery, day, is_own from placed group by 2, 3, 4, 5) as of cross join lateral (
       select ${COLUMNS("d")} from ${ident}.delivery as d where of.is_own and d.id = of.delivery and d.day = of.day
       union all
       select ${COLUMNS("l")} from ${ident}.job_list as l
       cross join lateral (select received_at from ${ident}.delivery as one where one.id = l.delivery and one.day in (l.day, ${KEPT_DAY}) limit 1) as d
       where not of.is_own and l.first_job = of.first and l.day = of.day) as list`,
    [ids],
  );
  return rows.flatMap(({ ids: places, ...stored }) => {
    const { first, lines, ...list } = parse(stored);
    return places.flatMap((id) => {
      const line = lines[id - first];
      return line === undefined ? [] : [{ ...list, id, line }];
    });
  });
}

/** The lines of jobs whose delivery is known: of its lists those that have one of them. */
export async function linesOf(
  queries: Queries,
  ident: string,
  jobs: readonly { readonly id: number; readonly delivery: number }[],
): Promise<ReadonlyMap<number, Line>> {
  if (jobs.length === 0) return new Map();
  const rows = await queries.query<Pick<Stored, "first" | "jobs" | "absent"> & { readonly ids: readonly number[] }>(
    /* sql */ `with placed as materialized (select given.id, given.delivery, later.first_job, later.day
       from unnest($1::bigint[], $2::bigint[]) as given (id, delivery) left join lateral (
         select l.first_job, l.day from ${ident}.job_list as l where l.delivery = given.delivery and l.first_job <= given.id
         order by l.first_job desc limit 1) as later on true)
     select of.ids, coalesce(of.first_job, of.delivery + 1) as first, list.jobs, to_jsonb(list.absent) as absent
     from (select jsonb_agg(id) as ids, delivery, first_job, day from placed group by 2, 3, 4) as of cross join lateral (
       select d.jobs, d.absent from ${ident}.delivery as d where of.first_job is null and d.id = of.delivery and d.jobs is not null
       union all select l.jobs, l.absent from ${ident}.job_list as l where l.first_job = of.first_job and l.day = of.day) as list`,
    [jobs.map(({ id }) => id), jobs.map(({ delivery }) => delivery)],
  );
  return new Map(
    rows.flatMap(({ ids, first, ...stored }) => {
      const lines = linesIn(stored);
      return ids.flatMap((id) => {
        const line = lines[id - first];
        return line === undefined ? [] : [[id, line] as const];
      });
    }),
  );
}

const COLUMNS = (list: "d" | "l"): string =>
  `${list}.${list === "d" ? "id" : "delivery"} as delivery, ${list}.day, ${list}.account, ${list}.subscription, d.received_at as "receivedAt", ${list}.jobs, to_jsonb(${list}.absent) as absent`;

type Stored = Omit<JobList, "lines"> & { readonly jobs: string | null; readonly absent: readonly number[] };

function parse({ jobs, absent, ...list }: Stored): JobList {
  return { ...list, lines: linesIn({ jobs, absent }) };
}

/** Of a damaged list as much as can be read. */
function linesIn({ jobs, absent }: Pick<Stored, "jobs" | "absent">): (Line | undefined)[] {
  const gone = new Set(absent);
  return listIn(jobs).map((line, place) => (isLine(line) && !gone.has(place) ? line : undefined));
}

function listIn(jobs: string | null): readonly unknown[] {
  try {
    const list: unknown = JSON.parse(jobs ?? "[]");
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

function isLine(line: unknown): line is Line {
  return Array.isArray(line) && typeof line[0] === "number" && typeof line[1] === "string";
}
