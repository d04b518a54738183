import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { EndRecord, ProgressRecord } from "../thread/records.ts";
import type { FileState } from "../thread/file-state.ts";
import type { JobLists, ListedJob } from "../jobs/job-lists.ts";

/** Rows of jobs: open ones, dead ones and unhandled ones. Counts what it changes. */
export interface JobTable {
  /** A row for an open job that has none. It counts already. Nothing where its delivery was erased. */
  giveRow(job: number): void;
  /** A new open job. */
  insert(job: ListedJob, replayOf: number | null): void;
  /** @param at when it became unhandled: that may be long after it was received */
  insertUnhandled(job: ListedJob, at: number): void;
  progress(id: number, progress: ProgressRecord): void;
  /** An open job ends as dead or unhandled. Told twice it changes nothing more: a commit's outcome may be unknown. */
  end(id: number, end: EndRecord): void;
  /** Whether it was there. */
  remove(id: number, from: "open" | Ended): boolean;
}

/** The tables of jobs that ended otherwise than done. */
export type Ended = "dead" | "unhandled";

const IDENTITY = "id, delivery, entry, type, consumer, account, subscription, received_at, replay_of";

interface JobTableDeps {
  readonly state: FileState;
  readonly lists: JobLists;
  /** A job of a delivery is no longer in its table. */
  readonly ended: (delivery: number) => void;
}

export function createJobTable(db: DatabaseSync, { state, lists, ended }: JobTableDeps): JobTable {
  const sql = {
    insert: db.prepare(
      `INSERT OR IGNORE INTO job (${IDENTITY}, lane, merge_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    progress: db.prepare(
      "UPDATE job SET attempts = ?, deaths = ?, group_max = ?, first_attempt_at = ?, run_at = ?, delay_ms = ?, error = ? WHERE id = ?",
    ),
    end: { dead: toEnded("dead"), unhandled: toEnded("unhandled") },
    unhandled: db.prepare(
      `INSERT INTO unhandled (${IDENTITY}, attempts, settled_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, 0, ?)`,
    ),
    remove: {
      open: db.prepare("DELETE FROM job WHERE id = ? RETURNING CAST(delivery AS REAL) AS delivery"),
      dead: db.prepare("DELETE FROM dead WHERE id = ? RETURNING CAST(delivery AS REAL) AS delivery"),
      unhandled: db.prepare("DELETE FROM unhandled WHERE id = ? RETURNING CAST(delivery AS REAL) AS delivery"),
    },
  };

  function toEnded(name: Ended): StatementSync {
    return db.prepare(
      `INSERT INTO ${name} (${IDENTITY}, attempts, error, settled_at) SELECT ${IDENTITY}, ?, ?, ? FROM job WHERE id = ? ON CONFLICT (id) DO NOTHING`,
    );
  }

  function insertRow(
    { id, delivery, account, subscription, receivedAt, line }: ListedJob,
    replayOf: number | null,
  ): void {
    const [entry, type, consumer = "", lane = null, mergeKey = null] = line;
    sql.insert.run(id, delivery, entry, type, consumer, account, subscription, receivedAt, replayOf, lane, mergeKey);
  }

  function remove(id: number, from: "open" | Ended): boolean {
    const delivery = sql.remove[from].get(id)?.["delivery"];
    if (delivery === undefined) return false;
    state.add(from, -1);
    ended(Number(delivery));
    return true;
  }

  return {
    giveRow(id) {
      const job = lists.find(id);
      if (job === undefined) state.add("open", -1);
      else insertRow(job, null);
    },
    insert(job, replayOf) {
      insertRow(job, replayOf);
      state.add("open", 1);
    },
    insertUnhandled({ id, delivery, account, subscription, receivedAt, line }, at) {
      const [entry, type, consumer = null] = line;
      sql.unhandled.run(id, delivery, entry, type, consumer, account, subscription, receivedAt, at);
      state.add("unhandled", 1);
    },
    progress(id, { attempts, deaths, groupMax, firstAttemptAt, runAt, delayMs, error }) {
      sql.progress.run(attempts, deaths, groupMax, firstAttemptAt, runAt, delayMs, error, id);
    },
    end(id, { to, attempts, error, settledAt }) {
      state.add(to, Number(sql.end[to].run(attempts, error, settledAt, id).changes));
      remove(id, "open");
    },
    remove,
  };
}
