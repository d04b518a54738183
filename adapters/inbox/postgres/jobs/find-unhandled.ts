import type { HandledType, UnhandledJob } from "../../../../src/adapter.ts";
import type { Queries } from "../connection/pool.ts";
import { toDelivery, type DeliveryRow } from "../delivery-row.ts";
import { KEPT_DAY } from "../schema/tables.ts";

/** Of the bodies that a page brings with it. */
const PAGE_BYTES = 4 * 1024 * 1024;

/** Unhandled jobs with what a handler needs. */
export async function findUnhandled(
  queries: Queries,
  ident: string,
  page: UnhandledInput,
): Promise<readonly UnhandledJob[]> {
  const consumers = Map.groupBy(page.handled, ({ type }) => type);
  if (consumers.size === 0) return [];
  const handled = [...consumers].map(([type, of]) => ({ type, consumers: of.map(({ consumer }) => consumer) }));
  const rows = await queries.query<UnhandledRow>(
    `with page as materialized (
       select u.* from jsonb_to_recordset($1) as h (type text, consumers text[]) cross join lateral (
         select id, entry, consumer, delivery, day from ${ident}.unhandled as one
         where one.type = h.type and (one.consumer is null or one.consumer = any (h.consumers)) and one.id > $2 order by one.id limit $3) as u
       order by u.id limit $3),
     origins as materialized (
       select distinct on (page.delivery) page.delivery, page.id as job, d.* from page cross join lateral (
         select received_at, sent_at, source, signed_by, signature, headers, day, octet_length(body) as bytes from ${ident}.delivery as one
         where one.id = page.delivery and one.day in (page.day, ${KEPT_DAY}) limit 1) as d order by page.delivery, page.id),
     few as (select * from (select origins.*, sum(bytes) over (order by job) as total, row_number() over (order by job) as nth from origins) as o where total <= ${PAGE_BYTES} or nth = 1),
     bound as (select min(job) as job from origins where delivery not in (select delivery from few))
     select page.id as job, page.entry, page.consumer, few.delivery as id, few.received_at, few.sent_at, few.source, few.signed_by, few.signature, few.headers,
       case when page.id = few.job then (select body from ${ident}.delivery as one where one.id = few.delivery and one.day = few.day) end as body
     from page join few on few.delivery = page.delivery where page.id < coalesce((select job from bound), page.id + 1) order by page.id`,
    [JSON.stringify(handled), page.after, page.limit],
  );
  const deliveries = new Map(rows.flatMap((row) => (hasBody(row) ? [[row.id, toDelivery(row)]] : [])));
  return rows.flatMap(({ job, entry, consumer, id }) => {
    const delivery = deliveries.get(id);
    return delivery === undefined
      ? []
      : { id: String(job), event: undefined, entry, consumer: consumer ?? undefined, delivery };
  });
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
