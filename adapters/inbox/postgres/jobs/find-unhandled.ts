import type { HandledType, UnhandledJob } from "../../../../src/adapter.ts";
import type { Queries } from "../connection/pool.ts";
import { isOfDisk } from "../connection/classify-error.ts";
import { toDelivery, type DeliveryRow } from "../delivery-row.ts";
import type { LossLog } from "../loss-log.ts";
import { KEPT_DAY } from "../schema/tables.ts";

/** Of the bodies that a page brings with it. */
const PAGE_BYTES = 4 * 1024 * 1024;

export interface UnhandledDeps {
  readonly queries: Queries;
  readonly ident: string;
  readonly loss: LossLog;
}

/** Unhandled jobs with what a handler needs. Empty at the end alone. */
export async function findUnhandled(deps: UnhandledDeps, page: UnhandledInput): Promise<readonly UnhandledJob[]> {
  const consumers = Map.groupBy(page.handled, ({ type }) => type);
  if (consumers.size === 0) return [];
  const handled = JSON.stringify(
    [...consumers].map(([type, of]) => ({ type, consumers: of.map(({ consumer }) => consumer) })),
  );
  for (let { after } = page; ;) {
    const part = { handled, after, limit: page.limit };
    const found = await readPage(deps, part).catch((error: unknown) => {
      if (isOfDisk(error)) return readSingly(deps, part);
      throw error;
    });
    if (found.length > 0) return found;
    const rest = await placesOf(deps, part);
    const last = rest.at(-1);
    if (last === undefined || last.id <= after) return [];
    await removeOrphans(
      deps,
      rest.map(({ id }) => id),
    ).catch((error: unknown) => {
      if (!isOfDisk(error)) throw error;
    });
    after = last.id;
  }
}

/** With its jobs in the order of ids. */
const PAGE_SQL = (ident: string): string => /* sql */ `
  select u.* from jsonb_to_recordset($1) as h (type text, consumers text[]) cross join lateral (
    select id, entry, consumer, delivery, day from ${ident}.unhandled as one
    where one.type = h.type and (one.consumer is null or one.consumer = any (h.consumers)) and one.id > $2 order by one.id limit $3) as u
  order by u.id limit $3`;

async function readPage(
  { queries, ident }: UnhandledDeps,
  { handled, after, limit }: Part,
): Promise<readonly UnhandledJob[]> {
  const rows = await queries.query<UnhandledRow>(
    /* sql */ `with page as materialized (${PAGE_SQL(ident)}),
     origins as materialized (
       select distinct on (page.delivery) page.delivery, page.id as job, d.* from page cross join lateral (
         select received_at, sent_at, source, signed_by, signature, headers, day, octet_length(body) as bytes from ${ident}.delivery as one
         where one.id = page.delivery and one.day in (page.day, ${KEPT_DAY}) limit 1) as d order by page.delivery, page.id),
     few as (select * from (select origins.*, sum(bytes) over (order by job) as total, row_number() over (order by job) as nth from origins) as o where total <= ${PAGE_BYTES} or nth = 1),
     bound as (select min(job) as job from origins where delivery not in (select delivery from few))
     select page.id as job, page.entry, page.consumer, few.delivery as id, few.received_at, few.sent_at, few.source, few.signed_by, few.signature, few.headers,
       case when page.id = few.job then (select body from ${ident}.delivery as one where one.id = few.delivery and one.day = few.day) end as body
     from page join few on few.delivery = page.delivery where page.id < coalesce((select job from bound), page.id + 1) order by page.id`,
    [handled, after, limit],
  );
  const deliveries = new Map(rows.flatMap((row) => (hasBody(row) ? [[row.id, toDelivery(row)]] : [])));
  return rows.flatMap(({ job, entry, consumer, id }) => {
    const delivery = deliveries.get(id);
    return delivery === undefined
      ? []
      : { id: String(job), event: undefined, entry, consumer: consumer ?? undefined, delivery };
  });
}

/** As many of a page, one by one, as may come together: those that can be read. */
async function readSingly(deps: UnhandledDeps, part: Part): Promise<readonly UnhandledJob[]> {
  const found: UnhandledJob[] = [];
  let bytes = 0;
  for (const { id, delivery } of await placesOf(deps, part)) {
    try {
      const [job] = await readPage(deps, { ...part, after: id - 1, limit: 1 });
      if (job?.id !== String(id)) continue;
      found.push(job);
      bytes += job.delivery.body.byteLength;
    } catch (error) {
      if (!isOfDisk(error)) throw error;
      deps.loss.unreadable("unhandled", delivery, error);
    }
    if (bytes >= PAGE_BYTES) break;
  }
  return found;
}

function placesOf(
  { queries, ident }: UnhandledDeps,
  { handled, after, limit }: Part,
): Promise<readonly { readonly id: number; readonly delivery: number }[]> {
  return queries.query(`select id, delivery from (${PAGE_SQL(ident)}) as page order by id`, [handled, after, limit]);
}

async function removeOrphans({ queries, ident, loss }: UnhandledDeps, ids: readonly number[]): Promise<void> {
  const gone = await queries.query<{ readonly id: number }>(
    /* sql */ `delete from ${ident}.unhandled as u where u.id = any ($1::bigint[])
       and not exists (select from ${ident}.delivery as one where one.id = u.delivery) returning u.id`,
    [ids],
  );
  if (gone.length > 0) loss.removed(gone.map(({ id }) => id));
}

interface Part {
  /** JSON: each type with its consumers. */
  readonly handled: string;
  readonly after: number;
  readonly limit: number;
}

interface UnhandledInput {
  readonly handled: readonly HandledType[];
  readonly after: number;
  readonly limit: number;
}

type UnhandledRow = Omit<DeliveryRow, "body"> & {
  readonly job: number;
  readonly entry: number;
  readonly consumer: string | null;
  /** With the first job of its delivery alone: there may be a thousand. */
  readonly body: Uint8Array | null;
};

function hasBody(row: UnhandledRow): row is UnhandledRow & DeliveryRow {
  return row.body !== null;
}
