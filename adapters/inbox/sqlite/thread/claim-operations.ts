import type { DatabaseSync } from "node:sqlite";
import { MOST_DEATHS, SUSPECT_DEATHS } from "../../../../src/inbox/job-deaths.ts";
import type { DeliveryRow, SettleRecord, TextPage } from "./records.ts";
import type { FileState } from "./file-state.ts";
import type { JobTable } from "../schema/job-table.ts";
import type { WindowTable } from "../schema/lane-window-table.ts";
import type { UnusableRows } from "./unusable-rows.ts";

/** Claims and how they end, and the change of the process that works. */
export interface ClaimOperations {
  /**
   * Once all deliveries are read, these jobs may be running from now on, but for those whose delivery is gone.
   * @param input with the deliveries that each run needs and nobody has read yet, in the order of its jobs
   */
  claim(input: {
    readonly ids: readonly number[];
    readonly at: number;
    readonly deliveries: readonly (readonly number[])[];
  }): ClaimedDeliveries;
  /** Nobody claimed these fresh jobs in time: they wait like all others. */
  unclaim(ids: readonly number[]): void;
  /** Told twice it changes nothing more: a commit's outcome may be unknown. @returns jobs that are dead instead: their outcome does not fit */
  settle(record: SettleRecord): readonly number[];
  /** A new owner: what was running counts one attempt and one death. */
  takeOver(): TakenOver;
  /** The same owner with another commit thread: nothing of the former one counts any more. */
  resume(input: Resuming): Resumed;
  /** Open jobs with a row, in the order of ids, as `LoadedJob`. */
  openJobs(page: { readonly after: number; readonly limit: number }): TextPage;
  /** Of a page of open jobs with a row, those that do not run, as `WaitingJobs`. Accounts and consumers are lists as JSON. */
  countWaiting(page: {
    readonly after: number;
    readonly limit: number;
    readonly accounts: string;
    readonly consumers: string;
  }): TextPage;
  /** Those of them that are open and have a row, in the order of ids, as `LoadedJob`. @returns JSON of a list of them */
  openJobsOf(ids: readonly number[]): string;
}

interface ClaimedDeliveries {
  readonly found: readonly DeliveryRow[];
  /** They are not in the file. */
  readonly gone: readonly number[];
  /** Else some were not read, because the bodies are more than a run has, or more than one commit reads: no job is marked. */
  readonly isMarked: boolean;
}

interface TakenOver {
  readonly epoch: number;
  /** A count was wrong: rows were lost, and others may refer to them. */
  readonly isDamaged: boolean;
}

interface Resuming {
  /** Its epochs: the last one that is certain, and those of calls whose outcome is unknown. */
  readonly epochs: readonly number[];
  /** Its epoch from now on. */
  readonly next: number;
  /** What it has claimed, or is about to. */
  readonly running: readonly number[];
}

interface Resumed {
  readonly epoch: number;
  /** Ids of what is marked: a fresh job among them has no row. */
  readonly marked: readonly number[];
}

export interface ClaimOperationsDeps {
  readonly state: FileState;
  readonly jobs: JobTable;
  readonly windows: WindowTable;
  readonly deliveries: (ids: readonly number[]) => DeliveryRow[];
  readonly unusable: Pick<UnusableRows, "recount">;
}

/** Rows of `job` as JSON of a list of `LoadedJob`. */
const LOADED = `json_group_array(json_array(
  id, delivery, entry, consumer, lane, merge_key, received_at, replay_of,
  CASE WHEN attempts > 0 OR deaths > 0 OR run_at > 0 OR error IS NOT NULL THEN json_object('attempts', attempts,
    'deaths', deaths, 'groupMax', group_max, 'firstAttemptAt', first_attempt_at, 'runAt', run_at, 'delayMs', delay_ms, 'error', error) END, account
))`;

/** Of lanes and merge keys that are loaded in one page. */
const PAGE_BYTES = 16 * 1024 * 1024;
/** Of bodies that one commit reads, at least one: deliveries wait for it, and a thread that is silent for long is given up. */
const CLAIM_BYTES = 16 * 1024 * 1024;
/** Of bodies in one run, at least one: further jobs are in the next one. */
export const RUN_BYTES: number = 4 * 1024 * 1024;

export function createClaimOperations(
  db: DatabaseSync,
  { state, jobs, windows, deliveries, unusable }: ClaimOperationsDeps,
): ClaimOperations {
  const sql = {
    deliveryOf: db.prepare("SELECT CAST(delivery AS REAL) AS delivery FROM job WHERE id = ?"),
    isSuspect: db.prepare(`SELECT 1 FROM job WHERE id = ? AND deaths >= ${SUSPECT_DEATHS}`),
    // `orphaned(claimed(job))` of src/inbox/job-deaths.ts in SQL; a test compares the two.
    orphan:
      db.prepare(/* sql */ `UPDATE job SET attempts = attempts + (deaths < ${MOST_DEATHS}), deaths = deaths + (deaths < ${SUSPECT_DEATHS} OR :size = 1),
         group_max = CASE WHEN deaths >= ${SUSPECT_DEATHS} THEN min(coalesce(group_max, :half), :half) END,
         first_attempt_at = min(coalesce(first_attempt_at, :claimedAt), :claimedAt), run_at = 0, delay_ms = 0 WHERE id = :id`),
    bytes: db.prepare(/* sql */ `SELECT sum(ifnull(octet_length(lane), 0) + ifnull(octet_length(merge_key), 0)) AS bytes
       FROM (SELECT lane, merge_key FROM job WHERE id > ? ORDER BY id LIMIT ?)`),
    waiting:
      db.prepare(/* sql */ `WITH page AS MATERIALIZED (SELECT id, CASE WHEN account IN (SELECT value FROM json_each(:accounts)) THEN account END AS account,
           CASE WHEN consumer IN (SELECT value FROM json_each(:consumers)) THEN consumer END AS consumer FROM job WHERE id > :after ORDER BY id LIMIT :limit),
         counts AS (SELECT account, consumer, count(*) AS jobs FROM page WHERE id NOT IN (SELECT value FROM json_each(:marked)) GROUP BY account, consumer)
       SELECT (SELECT max(id) FROM page) AS last, (SELECT json_group_array(json_object('account', account, 'consumer', consumer, 'jobs', jobs)) FROM counts) AS rows`),
    page: db.prepare(
      `SELECT max(id) AS last, ${LOADED} AS rows FROM (SELECT * FROM job WHERE id > ? ORDER BY id LIMIT ?)`,
    ),
    pageOf: db.prepare(
      `SELECT ${LOADED} AS rows FROM (SELECT job.* FROM json_each(?) AS wanted CROSS JOIN job ON job.id = wanted.value ORDER BY job.id)`,
    ),
  };

  /** It runs no more, and is open as before. A fresh one gets a row: without its mark it would be done. */
  function unmark(id: number): void {
    if (state.mark.remove(id) === "fresh") jobs.giveRow(id);
  }

  function end(id: number): void {
    if (state.mark.remove(id) === "fresh") state.add("open", -1);
    else jobs.remove(id, "open");
  }

  /** How many of them a page takes: a lane may be as long as a body, and a thousand of those no text at all. */
  function fewBytes(after: number, limit: number): number {
    for (let few = limit; ; few = Math.ceil(few / 2)) {
      const bytes = Number(sql.bytes.get(after, few)?.["bytes"]);
      if (few === 1 || bytes <= PAGE_BYTES) return few;
    }
  }

  return {
    claim({ ids, at, deliveries: wanted }) {
      const found: DeliveryRow[] = [];
      const missing = new Set<number>();
      let [bytes, isMarked] = [0, true];
      for (const run of wanted) {
        const most = Math.min(bytes + RUN_BYTES, CLAIM_BYTES);
        for (const id of run) {
          if (bytes >= most) isMarked = false;
          if (bytes >= most) break;
          const [row] = deliveries([id]);
          if (row === undefined) missing.add(id);
          else found.push(row);
          bytes += row?.body.byteLength ?? 0;
        }
      }
      const gone = [...missing];
      if (!isMarked) return { found, gone, isMarked };
      for (const id of ids) {
        // One that is still fresh in the file stays so: the commit that was to give it a row did not hold. One that was dropped or erased since
        // it was chosen does not run, nor does one without its delivery: nothing would ever take its mark back.
        const delivery = state.mark.has(id) ? undefined : sql.deliveryOf.get(id)?.["delivery"];
        if (delivery !== undefined && !missing.has(Number(delivery))) state.mark.add(id, at, false);
      }
      return { found, gone, isMarked };
    },
    unclaim: (ids) => ids.forEach(unmark),
    settle({ done, released, others, windows: changed }) {
      for (const window of changed) windows.writeWindow(window);
      for (const id of done) end(id);
      for (const id of released) unmark(id);
      for (const other of others) {
        unmark(other.id);
        if (other.to === "waiting") jobs.progress(other.id, other);
        else jobs.end(other.id, other);
      }
      return [];
    },
    takeOver() {
      const marked = [...state.mark.entries()];
      for (const { id } of marked) unmark(id);
      const size = marked.filter(({ id }) => sql.isSuspect.get(id) !== undefined).length;
      const half = Math.ceil(size / 2);
      for (const { id, claimedAt } of marked) sql.orphan.run({ size, half, claimedAt, id });
      state.mark.clear();
      const isDamaged = unusable.recount();
      windows.sweepWindows();
      return { epoch: state.raiseEpoch(), isDamaged };
    },
    resume({ epochs, next, running }) {
      state.assertEpoch(...epochs);
      const claimed = new Set(running);
      for (const { id } of state.mark.entries()) if (!claimed.has(id)) unmark(id);
      return { epoch: state.raiseEpoch(next), marked: [...state.mark.entries()].map(({ id }) => id) };
    },
    countWaiting(page) {
      const marked = JSON.stringify([...state.mark.entries()].map(({ id }) => id));
      return sql.waiting.get({ ...page, marked }) as unknown as TextPage;
    },
    openJobs: ({ after, limit }) => sql.page.get(after, fewBytes(after, limit)) as unknown as TextPage,
    openJobsOf: (ids) => String(sql.pageOf.get(JSON.stringify(ids))?.["rows"]),
  };
}
