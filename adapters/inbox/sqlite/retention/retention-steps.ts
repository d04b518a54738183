import type { DatabaseSync } from "node:sqlite";
import type { Counters } from "../thread/counters.ts";
import type { JobLists } from "../thread/job-lists.ts";
import type { Listed } from "../thread/job-writer.ts";

/** Until when what is stored has had its time, milliseconds since the epoch; what is stamped at it or before goes. */
export interface RetainLimits {
  /** Received: deliveries of which every job is settled. */
  readonly received: number;
  /** Settled: unhandled jobs. */
  readonly unhandled: number;
  /** Seen: natural keys. */
  readonly keys: number;
  /** Last hit: tombstones. */
  readonly tombstones: number;
}

/** Taking away what has had its time, so little in a commit that no other waits long. */
export interface RetentionSteps {
  /** The newest stamp that there is; undefined in an empty file. */
  newestAt(): number | undefined;
  /** Deliveries go by their ids, and none beyond the first that is still needed. Dead jobs stay. @returns whether there may be more */
  retain(limits: RetainLimits): boolean;
}

/** In one step: rows, and bytes of bodies. A row that alone is larger goes all the same. */
const DELIVERIES = 256;
const UNHANDLED = 64;
const KEYS = 48;
const LATER = 1_024;
const BYTES = 512 * 1024;

export function createRetentionSteps(
  db: DatabaseSync,
  { lists, counters }: { readonly lists: JobLists; readonly counters: Counters },
): RetentionSteps {
  const sql = {
    newest: db.prepare(
      `SELECT max(coalesce((SELECT received_at FROM delivery ORDER BY id DESC LIMIT 1), 0),
         coalesce((SELECT max(seen_at) FROM dedupe), 0)) AS at`,
    ),
    unsettled: db.prepare("SELECT 1 FROM job WHERE id = ?"),
    oldest: db.prepare(
      "SELECT id, received_at AS receivedAt, cursor, jobs, length(body) AS bytes FROM delivery ORDER BY id",
    ),
    removeDeliveries: db.prepare("DELETE FROM delivery WHERE id <= ?"),
    unhandled: db.prepare(
      `SELECT id, delivery, length(body) AS bytes FROM dead WHERE state = 'unhandled' AND settled_at <= ? ORDER BY settled_at`,
    ),
    removeUnhandled: db.prepare("DELETE FROM dead WHERE id = ?"),
    removeKeys: db.prepare(
      `DELETE FROM dedupe WHERE key IN (SELECT key FROM dedupe WHERE seen_at <= ? ORDER BY seen_at LIMIT ${KEYS})`,
    ),
    // A job's id is above its delivery's: below the first delivery that there is, these are of none.
    removeLater: db.prepare(
      `DELETE FROM later WHERE first_job IN (SELECT first_job FROM later
         WHERE first_job < coalesce((SELECT min(id) FROM delivery), ?) ORDER BY first_job LIMIT ${LATER})`,
    ),
    removeTombstones: db.prepare("DELETE FROM tombstone WHERE last_hit <= ?"),
  };

  /** All jobs that were ever made of a delivery are in its list, replays too. */
  function isNeeded({ cursor, jobs }: OldRow): boolean {
    return cursor !== null || (JSON.parse(jobs) as Listed[]).some(([id]) => sql.unsettled.get(id) !== undefined);
  }

  function removeDeliveries(until: number): boolean {
    const { rows, more } = firstOf(sql.oldest.iterate() as Iterable<OldRow>, {
      most: DELIVERIES,
      holds: (row) => row.receivedAt <= until && !isNeeded(row),
    });
    const last = rows.at(-1);
    if (last !== undefined) sql.removeDeliveries.run(last.id);
    return more;
  }

  function removeUnhandled(until: number): boolean {
    const { rows, more } = firstOf(sql.unhandled.iterate(until) as Iterable<UnhandledRow>, { most: UNHANDLED });
    for (const { id, delivery } of rows) {
      sql.removeUnhandled.run(id);
      // Its delivery may be there for longer: a job listed there would be a done one.
      lists.remove(delivery, new Set([id]));
    }
    counters.add("unhandled", -rows.length);
    return more;
  }

  return {
    newestAt: () => Number(sql.newest.get()?.["at"]) || undefined,
    retain(until) {
      const left = [
        removeDeliveries(until.received),
        sql.removeLater.run(counters.lastId() + 1).changes === LATER,
        removeUnhandled(until.unhandled),
        sql.removeKeys.run(until.keys).changes === KEYS,
      ];
      sql.removeTombstones.run(until.tombstones);
      return left.includes(true);
    },
  };
}

interface Sized {
  readonly bytes: number;
}

interface OldRow extends Sized {
  readonly id: number;
  readonly receivedAt: number;
  readonly cursor: number | null;
  readonly jobs: string;
}

interface UnhandledRow extends Sized {
  readonly id: number;
  readonly delivery: number;
}

/** The first rows while something holds, within a step's bounds; `more`: the bounds ended it. */
function firstOf<T extends Sized>(
  all: Iterable<T>,
  { most, holds = () => true }: { readonly most: number; readonly holds?: (row: T) => boolean },
): { readonly rows: readonly T[]; readonly more: boolean } {
  const rows: T[] = [];
  let bytes = 0;
  for (const row of all) {
    if (!holds(row)) break;
    if (rows.length === most || (rows.length > 0 && bytes + row.bytes > BYTES)) return { rows, more: true };
    rows.push(row);
    bytes += row.bytes;
  }
  return { rows, more: false };
}

/** Giving free pages back to the disk. */
export interface Vacuum {
  /** A few, where many are free: else new rows use them. @returns whether there may be more to give */
  vacuum(): boolean;
}

/** Fewer free ones are left to what comes. */
const LEAST_FREE = { pages: 1_000, share: 0.1 };

/** In one step: each may be moved from the end of the file to its place. */
const PAGES = 64;

export function createVacuum(db: DatabaseSync): Vacuum {
  const free = db.prepare("PRAGMA freelist_count");
  const all = db.prepare("PRAGMA page_count");

  return {
    vacuum() {
      const pages = Number(free.get()?.["freelist_count"]);
      const isMany = pages > LEAST_FREE.pages && pages > LEAST_FREE.share * Number(all.get()?.["page_count"]);
      if (isMany) db.exec(`PRAGMA incremental_vacuum(${PAGES})`);
      return isMany;
    },
  };
}
