import type { DatabaseSync } from "node:sqlite";
import { MOST_DEATHS, SUSPECT_DEATHS } from "../../../../src/inbox/job-state.ts";
import { FileError } from "../disk/file-errors.ts";
import type { Counters } from "./counters.ts";
import { createWindowTable } from "./lane-window-table.ts";

/** The epoch of the active worker, and its running mark. */
export interface OwnerEpoch {
  /** A transaction begins. @param epoch of the process that works @throws FileError `epoch-stale` when another process took over */
  begin(epoch: number | undefined): void;
  /** @throws FileError `epoch-stale` when another process took over */
  assertEpoch(epoch: number): void;
  /** Adds a job that this transaction makes to the running mark. */
  markMade(id: number): void;
  epoch(): number;
  /** Writes the running mark: these jobs, and those of `markMade`. */
  mark(running: Mark): void;
  /** A new owner: what was marked counts one attempt and one death. @returns its epoch */
  takeOver(): number;
  /** The same owner with another commit thread: nothing of the former one counts any more. @returns its epoch */
  resume(epoch: number): number;
}

/** Jobs that may be running, but for those that the transaction makes. */
export interface Mark {
  readonly count: number;
  /** Time of each claim by job id, as JSON. */
  readonly text: string;
  /** Now: the same of those that the transaction makes. */
  readonly at: number;
}

export function createOwnerEpoch(db: DatabaseSync, counters: Counters): OwnerEpoch {
  const sql = {
    epoch: db.prepare("SELECT epoch FROM owner"),
    running: db.prepare("SELECT running FROM owner"),
    mark: db.prepare("UPDATE owner SET running = ?"),
    raise: db.prepare("UPDATE owner SET epoch = epoch + 1 RETURNING epoch"),
    group: db.prepare(
      `SELECT count(*) AS size FROM json_each(?) JOIN job ON job.id = CAST(key AS INTEGER) WHERE deaths >= ${SUSPECT_DEATHS}`,
    ),
    // `orphaned(claimed(job))` of src/inbox/job-state.ts in SQL; a test compares the two.
    orphan: db.prepare(
      `UPDATE job SET attempts = attempts + (deaths < ${MOST_DEATHS}), deaths = deaths + (deaths < ${SUSPECT_DEATHS} OR :size = 1),
         group_max = CASE WHEN deaths >= ${SUSPECT_DEATHS} THEN min(coalesce(group_max, :half), :half) END,
         first_attempt_at = coalesce(first_attempt_at, :claimedAt), run_at = 0, delay_ms = 0 WHERE id = :id`,
    ),
  };

  const { sweepWindows } = createWindowTable(db);

  const marked = (): string => String(sql.running.get()?.["running"]);

  /** Made by this transaction. */
  let made: number[] = [];

  function mark({ count, text, at }: Mark): void {
    counters.set("running", count + made.length);
    sql.mark.run(made.length === 0 ? text : withIds(text, made, at));
  }

  const current = (): number => Number(sql.epoch.get()?.["epoch"]);

  function assertEpoch(epoch: number): void {
    if (current() === epoch) return;
    throw new FileError("epoch-stale", "Another process has taken over the work on this inbox.");
  }

  return {
    begin(epoch) {
      made = [];
      if (epoch !== undefined) assertEpoch(epoch);
    },
    assertEpoch,
    markMade: (id) => void made.push(id),
    epoch: current,
    mark,
    takeOver() {
      const text = marked();
      const size = Number(sql.group.get(text)?.["size"]);
      const half = Math.ceil(size / 2);
      for (const [id, claimedAt] of Object.entries(JSON.parse(text) as Record<string, number>))
        sql.orphan.run({ size, half, claimedAt, id: Number(id) });
      mark({ count: 0, text: "{}", at: 0 });
      sweepWindows();
      return Number(sql.raise.get()?.["epoch"]);
    },
    resume(epoch) {
      assertEpoch(epoch);
      return Number(sql.raise.get()?.["epoch"]);
    },
  };
}

/** @param text JSON of an object */
function withIds(text: string, ids: readonly number[], at: number): string {
  const more = ids.map((id) => `"${id}":${at}`).join();
  return text === "{}" ? `{${more}}` : `${text.slice(0, -1)},${more}}`;
}
