import type { DatabaseSync } from "node:sqlite";
import type { FileState } from "../thread/file-state.ts";
import type { JobLists } from "../jobs/job-lists.ts";
import { isKey, isNumber, rowsOf, toNumber } from "../schema/columns.ts";
import type { Ended, JobTable } from "../schema/job-table.ts";

/** Until when what is stored has had its time, milliseconds since the epoch; what is stamped at it or before goes. */
export interface RetainLimits {
  /** What is stamped after it was stored while the wall clock was ahead. */
  readonly wallClock: number;
  /** Received: deliveries that no open, dead or unhandled job refers to. */
  readonly received: number;
  /** Settled: unhandled jobs. */
  readonly unhandled: number;
  /** Settled: dead jobs. */
  readonly dead: number;
  /** Seen: natural keys. */
  readonly keys: number;
  /** Last hit: tombstones. */
  readonly tombstones: number;
}

/** Removing what has had its time, so little in a commit that no other waits long. */
export interface RetentionSteps {
  /** The newest stamp that there is; undefined in an empty file. */
  newestAt(): number | undefined;
  retain(input: RetainInput): Retained;
}

interface RetainInput extends RetainLimits {
  /** The delivery behind which to go on. */
  readonly after: number;
}

/** What a step did with a page of deliveries. */
export interface ScannedPage {
  /** Behind which the next step goes on; undefined: no old delivery is behind it. */
  readonly after: number | undefined;
  /** The first delivery up to there that stays. */
  readonly kept: number | undefined;
  /** How much stays, where 1 is a full page: the next one who looks there reads it again. */
  readonly keptPages: number;
}

interface Retained extends ScannedPage {
  /** Dead jobs that were removed. */
  readonly expired: number;
  /** There may be more to remove, apart from deliveries. */
  readonly isMore: boolean;
}

/** In one step: rows, and bytes of bodies. A row that alone is larger goes all the same. */
const DELIVERIES = 256;
const ENDED = 64;
const KEYS = 48;
const BYTES = 512 * 1024;
/** From the first to the last delivery of a step: what is in between may be rows of jobs. */
const IDS = 10_000;

/** How many jobs a list has. Of a damaged one it is not known: as many as a step looks at. */
const LENGTH = `CASE WHEN jobs IS NULL THEN 0 WHEN json_valid(jobs) THEN json_array_length(jobs) ELSE ${IDS} END`;

interface OldRow {
  readonly id: number;
  readonly receivedAt: number;
  readonly bytes: number;
}

export function createRetentionSteps(
  db: DatabaseSync,
  { state, lists, jobs }: { readonly state: FileState; readonly lists: JobLists; readonly jobs: JobTable },
): RetentionSteps {
  const sql = {
    newest: db.prepare(
      `SELECT max(coalesce((SELECT received_at FROM delivery WHERE ${isNumber("received_at")} ORDER BY id DESC LIMIT 1), 0),
         coalesce((SELECT max(seen_at) FROM dedupe WHERE ${isNumber("seen_at")}), 0)) AS at`,
    ),
    page: db.prepare(
      `SELECT id, ${toNumber("received_at")} AS receivedAt, length(body) AS bytes FROM delivery WHERE id > ? AND ${isKey("id")} ORDER BY id LIMIT ${DELIVERIES}`,
    ),
    end: db.prepare(`SELECT id + 1 + ${LENGTH} AS end FROM delivery WHERE id = ?`),
    // Jobs that were made with a delivery have ids between its own and the next one's. Those that were made later are in lists of their own.
    needed: db.prepare(
      `WITH range AS (
         SELECT :first + 1 AS first, :end AS end
         UNION ALL SELECT first_job, first_job + ${LENGTH} FROM job_list WHERE delivery BETWEEN :first AND :last
       )
       SELECT delivery FROM unexpanded WHERE delivery BETWEEN :first AND :last
       UNION ALL SELECT delivery FROM range CROSS JOIN job WHERE job.id >= range.first AND job.id < range.end
       UNION ALL SELECT delivery FROM range CROSS JOIN dead WHERE dead.id >= range.first AND dead.id < range.end
       UNION ALL SELECT delivery FROM range CROSS JOIN unhandled WHERE unhandled.id >= range.first AND unhandled.id < range.end`,
    ),
    anyList: db.prepare("SELECT 1 FROM job_list WHERE delivery BETWEEN ? AND ? LIMIT 1"),
    removeDeliveries: db.prepare("DELETE FROM delivery WHERE id BETWEEN ? AND ?"),
    removeLists: db.prepare("DELETE FROM job_list WHERE delivery BETWEEN ? AND ?"),
    ended: {
      dead: db.prepare(`SELECT id FROM dead WHERE settled_at <= ? ORDER BY settled_at LIMIT ${ENDED}`),
      unhandled: db.prepare(`SELECT id FROM unhandled WHERE settled_at <= ? ORDER BY settled_at LIMIT ${ENDED}`),
    },
    removeKeys: db.prepare(
      `DELETE FROM dedupe WHERE key IN (SELECT key FROM dedupe WHERE seen_at <= ? ORDER BY seen_at LIMIT ${KEYS})`,
    ),
    removeTombstones: db.prepare("DELETE FROM tombstone WHERE last_hit <= ?"),
  };

  /** Fresh jobs that run have no row. */
  function neededIn(first: number, last: number): Set<number> {
    const end = Number(sql.end.get(last)?.["end"]);
    const rows = sql.needed.all({ first, last, end });
    const needed = new Set(rows.map(({ delivery }) => Number(delivery)));
    // Most that run are of newer deliveries: their lists are not read.
    const before = sql.anyList.get(first, last) === undefined ? end : Infinity;
    for (const { id, isFresh } of state.mark.entries()) {
      const delivery = isFresh && id > first && id < before ? lists.find(id)?.delivery : undefined;
      if (delivery !== undefined) needed.add(delivery);
    }
    return needed;
  }

  /** A page of deliveries, in the order of ids: the old ones of them that nothing refers to go. */
  function removeDeliveries({
    after,
    received: until,
    wallClock,
  }: Pick<RetainInput, "after" | "received" | "wallClock">): ScannedPage {
    const page = pageOf(rowsOf<OldRow>(sql.page, after));
    const old = page.filter(({ receivedAt }) => receivedAt <= until);
    const [first, last] = [old[0]?.id, old.at(-1)?.id];
    if (first === undefined || last === undefined) {
      // Those of a wall clock that was ahead do not hold up what came after them.
      const isAhead = page.every(({ receivedAt }) => receivedAt > wallClock);
      return {
        after: isAhead ? page.at(-1)?.id : undefined,
        kept: page[0]?.id,
        keptPages: isAhead ? pagesOf(page) : 0,
      };
    }
    const needed = neededIn(first, last);
    const isGone = new Set(old.map(({ id }) => id).filter((id) => !needed.has(id)));
    for (const [from, to] of runsOf(
      page.map(({ id }) => id),
      (id) => isGone.has(id),
    )) {
      sql.removeDeliveries.run(from, to);
      sql.removeLists.run(from, to);
    }
    // Those behind the last old one become old later: a later step looks at them again.
    const kept = page.filter(({ id }) => id <= last && !isGone.has(id));
    return { after: last, kept: kept[0]?.id, keptPages: pagesOf(kept) };
  }

  /** Their lines go with them: a job that is listed alone is done. */
  function removeEnded(from: Ended, until: number): number {
    const ids = sql.ended[from].all(until).map(({ id }) => Number(id));
    for (const id of ids) jobs.remove(id, from);
    lists.remove(ids);
    return ids.length;
  }

  return {
    newestAt: () => Number(sql.newest.get()?.["at"]) || undefined,
    retain({ unhandled, dead, keys, tombstones, ...scan }) {
      const deliveries = removeDeliveries(scan);
      const expired = removeEnded("dead", dead);
      state.add("expired", expired);
      const isMore = [
        removeEnded("unhandled", unhandled) === ENDED,
        expired === ENDED,
        sql.removeKeys.run(keys).changes === KEYS,
      ].includes(true);
      sql.removeTombstones.run(tombstones);
      return { ...deliveries, expired, isMore };
    },
  };
}

function pageOf(rows: Iterable<OldRow>): OldRow[] {
  const page: OldRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    bytes += row.bytes;
    if (page.length > 0 && (bytes > BYTES || row.id - (page[0]?.id ?? 0) > IDS)) break;
    page.push(row);
  }
  return page;
}

/** Few rows that are short are a part of one: what comes next to the file fills it. */
function pagesOf(rows: readonly OldRow[]): number {
  const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
  return Math.max(rows.length / DELIVERIES, bytes / BYTES);
}

/** The first and the last of each unbroken run. */
function runsOf(ids: readonly number[], isIn: (id: number) => boolean): [first: number, last: number][] {
  const runs: [number, number][] = [];
  let run: [number, number] | undefined;
  for (const id of ids) {
    if (!isIn(id)) run = undefined;
    else if (run === undefined) runs.push((run = [id, id]));
    else run[1] = id;
  }
  return runs;
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
