import type { DatabaseSync } from "node:sqlite";
import type { FileState } from "../thread/file-state.ts";
import type { JobLists } from "../jobs/job-lists.ts";
import { isKey, isNumber, rowsOf, toNumber } from "../schema/columns.ts";
import type { Ended, JobTable } from "../schema/job-table.ts";
import { IDS, type NeededDeliveries } from "./needed-deliveries.ts";

/** Until when what is stored has had its time, milliseconds since the epoch; what is stamped at it or before goes. */
export interface RetainLimits {
  /** What is stamped after it was stored while the wall clock was ahead. */
  readonly wallClock: number;
  /** How far the time has come that the others are counted from. It is saved: a restart goes on there. */
  readonly trusted: number;
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
  /** The time that was saved last, else the newest stamp that there is; undefined in an empty file. */
  trustedAt(): number | undefined;
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
/** The key of a text. */
const SAVED = "retention/time";
/** By so much a restart may be behind: what has had its time goes later. */
const SAVE_EVERY_MS = 60 * 60 * 1_000;

interface OldRow {
  readonly id: number;
  readonly receivedAt: number;
  readonly bytes: number;
}

interface RetentionStepsDeps {
  readonly state: FileState;
  readonly lists: JobLists;
  readonly jobs: JobTable;
  readonly needed: NeededDeliveries;
}

export function createRetentionSteps(
  db: DatabaseSync,
  { state, lists, jobs, needed }: RetentionStepsDeps,
): RetentionSteps {
  const sql = {
    newest:
      db.prepare(/* sql */ `SELECT max(coalesce((SELECT received_at FROM delivery WHERE ${isNumber("received_at")} ORDER BY id DESC LIMIT 1), 0),
         coalesce((SELECT max(seen_at) FROM dedupe WHERE ${isNumber("seen_at")}), 0)) AS at`),
    saved: db.prepare(`SELECT value FROM key_value WHERE key = '${SAVED}'`),
    save: db.prepare(`INSERT OR REPLACE INTO key_value VALUES ('${SAVED}', ?, NULL)`),
    page: db.prepare(
      `SELECT id, ${toNumber("received_at")} AS receivedAt, length(body) AS bytes FROM delivery WHERE id > ? AND ${isKey("id")} ORDER BY id LIMIT ${DELIVERIES}`,
    ),
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
      return { after: isAhead ? page.at(-1)?.id : undefined, keptPages: isAhead ? pagesOf(page) : 0 };
    }
    const isNeeded = new Set([...needed.byRows(first, last), ...needed.byRunning(first, last)]);
    const isGone = new Set(old.map(({ id }) => id).filter((id) => !isNeeded.has(id)));
    for (const [from, to] of runsOf(
      page.map(({ id }) => id),
      (id) => isGone.has(id),
    )) {
      sql.removeDeliveries.run(from, to);
      sql.removeLists.run(from, to);
    }
    // Those behind the last old one become old later: a later step looks at them again.
    const kept = page.filter(({ id }) => id <= last && !isGone.has(id));
    return { after: last, keptPages: pagesOf(kept) };
  }

  /** Their lines go with them: a job that is listed alone is done. */
  function removeEnded(from: Ended, until: number): number {
    const ids = sql.ended[from].all(until).map(({ id }) => Number(id));
    for (const id of ids) jobs.remove(id, from);
    lists.remove(ids);
    return ids.length;
  }

  /** In the file, or on its way there. */
  let savedAt = -Infinity;

  function save(trusted: number): void {
    if (Math.abs(trusted - savedAt) < SAVE_EVERY_MS) return;
    savedAt = trusted;
    sql.save.run(String(trusted));
  }

  return {
    trustedAt() {
      savedAt = -Infinity;
      return Number(sql.saved.get()?.["value"]) || Number(sql.newest.get()?.["at"]) || undefined;
    },
    retain({ unhandled, dead, keys, tombstones, trusted, ...scan }) {
      save(trusted);
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
