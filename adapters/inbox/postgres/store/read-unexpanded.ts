import type { Delivery, Unexpanded } from "../../../../src/adapter.ts";
import type { Pool } from "../connection/pool.ts";
import { isCancelled, isFileFailure, isOfDisk, isUnreadable } from "../connection/classify-error.ts";
import { toDelivery, type DeliveryRow } from "../delivery-row.ts";
import type { LossLog } from "../loss-log.ts";
import { KEPT_DAY } from "../schema/tables.ts";

export interface UnexpandedReaderDeps {
  readonly pool: Pool;
  readonly ident: () => string;
  readonly now: () => number;
  readonly loss: Pick<LossLog, "unreadable" | "missing">;
}

/** Of bodies read in one go, at least one. Where the server cancels that, so small a part is tried next, and then twice as much each time. */
const PAGE_BYTES = 16 * 1024 * 1024;
const PART = 1 / 16;

/** A file that the server cannot read may be there again by then. */
const FILE_MS = 60_000;
/** Of those behind a delivery that it cannot read, one that it can shows that the disk is there. Some may share the broken block. */
const BEHIND = 100;

/** The oldest deliveries that wait to be expanded. */
export function createUnexpandedReader({ pool, ident, now, loss }: UnexpandedReaderDeps) {
  /** Since no page was read. */
  let failingSince: number | undefined;
  let pageBytes = PAGE_BYTES;

  async function readPage(max: number): Promise<readonly Unexpanded[]> {
    for (;;) {
      const rows = await pool.query<(DeliveryRow | NoDelivery) & Waiting>(
        /* sql */ `select * from (
           select u.delivery, u.cursor, d.*, coalesce(sum(octet_length(d.body)) over (order by u.delivery) - octet_length(d.body), 0) as before
           from (select * from ${ident()}.unexpanded order by delivery limit $1) as u
           left join lateral (select * from ${ident()}.delivery as one where one.day in (u.day, ${KEPT_DAY}) and one.id = u.delivery limit 1) as d on true
         ) as page where before < $2 order by delivery`,
        [max, pageBytes],
      );
      const found = rows.flatMap((row) => (row.id === null ? [] : { row, cursor: row.cursor }));
      // They keep what comes after them from being expanded at once.
      if (found.length < rows.length)
        await removeMissing(rows.flatMap(({ id, delivery }) => (id === null ? delivery : [])));
      if (found.length > 0 || rows.length === 0)
        return found.map(({ row, cursor }) => ({ id: String(row.id), delivery: toDelivery(row), cursor }));
    }
  }

  /** One that is broken on the server's disk keeps none from being read: the next one is the oldest when it is expanded. */
  async function readOldest(): Promise<readonly Unexpanded[]> {
    const [oldest] = await findWaiting(1);
    if (oldest === undefined) return [];
    const [id, { cursor }] = [String(oldest.delivery), oldest];
    try {
      const row = await readOne(oldest);
      if (row !== undefined) return [{ id, delivery: toDelivery(row), cursor }];
    } catch (error) {
      if (!isUnreadable(error) && !(isFileFailure(error) && (await isLost(oldest)))) throw error;
      loss.unreadable("unexpanded", id, error);
      return [{ id, delivery: withoutBody(oldest), cursor }];
    }
    await removeMissing([oldest.delivery]);
    return readOldest();
  }

  function findWaiting(max: number): Promise<readonly WaitingRow[]> {
    return pool.query(
      `select delivery, day, cursor, received_at as "receivedAt" from ${ident()}.unexpanded order by delivery limit $1`,
      [max],
    );
  }

  async function readOne({ day, delivery }: WaitingRow): Promise<DeliveryRow | undefined> {
    const [row] = await pool.query<DeliveryRow>(
      `select * from ${ident()}.delivery where day in ($1, ${KEPT_DAY}) and id = $2 limit 1`,
      [day, delivery],
    );
    return row;
  }

  /** For a minute it is waited for; and for as long as nothing else can be read. */
  async function isLost({ delivery }: WaitingRow): Promise<boolean> {
    failingSince ??= now();
    if (Math.abs(now() - failingSince) < FILE_MS) return false;
    for (const one of await findWaiting(BEHIND))
      if (one.delivery !== delivery && (await readOne(one).catch(() => undefined)) !== undefined) return true;
    return false;
  }

  /** One that is there on another day than its row says waits on. */
  async function removeMissing(deliveries: readonly number[]): Promise<void> {
    const gone = await pool.query<{ delivery: number }>(
      /* sql */ `with there as materialized (select id, day from ${ident()}.delivery where id = any ($1::bigint[])),
       moved as (update ${ident()}.unexpanded as u set day = there.day from there where u.delivery = there.id)
       delete from ${ident()}.unexpanded where delivery = any ($1::bigint[]) and delivery not in (select id from there) returning delivery`,
      [deliveries],
    );
    if (gone.length > 0) loss.missing(gone.map(({ delivery }) => String(delivery)));
  }

  return async (max: number): Promise<readonly Unexpanded[]> => {
    try {
      const page = await readPage(max);
      failingSince = undefined;
      pageBytes = Math.min(2 * pageBytes, PAGE_BYTES);
      return page;
    } catch (error) {
      if (isCancelled(error)) pageBytes = Math.ceil(pageBytes * PART);
      if (!isOfDisk(error)) throw error;
      return readOldest();
    }
  };
}

interface Waiting {
  readonly delivery: number;
  readonly cursor: number;
}

interface WaitingRow extends Waiting {
  readonly day: number;
  readonly receivedAt: number;
}

interface NoDelivery {
  readonly id: null;
}

/** What has no body is an event that nobody handles. */
function withoutBody({ receivedAt }: Pick<Delivery, "receivedAt">): Delivery {
  const body = undefined as unknown as Uint8Array;
  return { receivedAt, sentAt: receivedAt, source: undefined, signedBy: "", signature: "", headers: {}, body };
}
