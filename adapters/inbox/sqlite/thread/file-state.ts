import type { DatabaseSync } from "node:sqlite";
import { FileError } from "../connection/file-errors.ts";
import { decodeMark, type RunningMark } from "./running-mark.ts";

/** How much there is in the file. */
interface Counts {
  readonly unexpanded: number;
  /** Open jobs that do not run. */
  readonly waiting: number;
  readonly running: number;
  readonly dead: number;
  readonly unhandled: number;
  /** Dead letters that retention removed. */
  readonly expired: number;
  /** Another number after each change of the tombstones. */
  readonly tombstones: number;
}

/** With when the oldest delivery was received of those that wait to be expanded, and of open jobs where this process does not work. */
export interface FileCounts extends Counts {
  readonly oldestUnexpandedAt: number | undefined;
  readonly oldestOpenAt: number | undefined;
}

/** What is counted in the file itself: a `count(*)` would go through all there is. */
type Counted = "unexpanded" | "open" | "dead" | "unhandled" | "expired" | "tombstones";

/** The one row that every transaction reads and most write: counters, the ids that come from it, the worker's epoch and its running mark. */
export interface FileState {
  /** A transaction begins. @param epoch of the process that works @throws FileError `epoch-stale` when another process took over */
  begin(epoch: number | undefined): void;
  /** @param mine each that may be this process's @throws FileError `epoch-stale` when another process took over */
  assertEpoch(...mine: readonly number[]): void;
  readonly epoch: number;
  /** A new owner. @param to @default the next one @returns its epoch */
  raiseEpoch(to?: number): number;
  /** Of deliveries and jobs alike, so that a delivery's id is below those of its jobs. @returns the first of so many */
  nextId(count?: number): number;
  readonly lastId: number;
  add(what: Counted, by: number): void;
  /** @returns whether it was another */
  set(what: Counted, to: number): boolean;
  /** Whether there is any. */
  has(what: Counted): boolean;
  /** Of the present transaction. */
  readonly mark: RunningMark;
  /** The transaction is about to be committed. */
  end(): void;
  /** It was rolled back. */
  undo(): void;
  /** As the last `begin` found it, and the transaction left it. */
  counts(): Counts;
}

type Row = Record<Counted | "epoch" | "lastId" | "running" | "markVersion", number>;

export function createFileState(db: DatabaseSync): FileState {
  const counters =
    "epoch = ?, last_id = ?, unexpanded = ?, open = ?, dead = ?, unhandled = ?, expired = ?, tombstones = ?";
  const sql = {
    read: db.prepare(
      `SELECT epoch, last_id AS lastId, unexpanded, open, running, dead, unhandled, expired, tombstones, mark_version AS markVersion FROM state`,
    ),
    mark: db.prepare("SELECT CASE typeof(mark) WHEN 'blob' THEN mark ELSE x'' END AS mark FROM state"),
    write: db.prepare(`UPDATE state SET ${counters}`),
    // Early releases of Node 22 bind no bytes as NULL.
    writeMark: db.prepare(`UPDATE state SET ${counters}, running = ?, mark_version = ?, mark = coalesce(?, x'')`),
  };
  const read = (): Row => sql.read.get() as unknown as Row;
  let row = read();
  let before = row;
  let isChanged = false;
  /** As it is in the file at a version of it, or as this transaction has changed it. */
  let known: { readonly version: number; readonly mark: RunningMark } | undefined;

  /** Read only where it is needed, and not again while nobody else writes it. */
  function currentMark(): RunningMark {
    if (known?.version !== row.markVersion)
      known = { version: row.markVersion, mark: decodeMark(sql.mark.get()?.["mark"] as Uint8Array) };
    return known.mark;
  }

  function assertEpoch(...mine: readonly number[]): void {
    if (mine.includes(row.epoch)) return;
    throw new FileError("epoch-stale", "Another process has taken over the work on this inbox.");
  }

  return {
    begin(epoch) {
      row = read();
      before = { ...row };
      isChanged = false;
      if (epoch !== undefined) assertEpoch(epoch);
    },
    assertEpoch,
    get epoch() {
      return row.epoch;
    },
    raiseEpoch(to = row.epoch + 1) {
      isChanged = true;
      row.epoch = to;
      return row.epoch;
    },
    nextId(count = 1) {
      isChanged = true;
      row.lastId += count;
      return row.lastId - count + 1;
    },
    get lastId() {
      return row.lastId;
    },
    add(what, by) {
      if (by === 0) return;
      isChanged = true;
      row[what] += by;
    },
    set(what, to) {
      if (row[what] === to) return false;
      isChanged = true;
      row[what] = to;
      return true;
    },
    has: (what) => row[what] > 0,
    get mark() {
      return currentMark();
    },
    end() {
      const { epoch, lastId, unexpanded, open, dead, unhandled, expired, tombstones } = row;
      if (known?.mark.isChanged === true) {
        const [{ mark }, version] = [known, row.markVersion + 1];
        [row.running, row.markVersion, known] = [mark.size, version, { version, mark }];
        sql.writeMark.run(
          epoch, lastId, unexpanded, open, dead, unhandled, expired, tombstones, mark.size, version, mark.encode(),
        ); // prettier-ignore
      } else if (isChanged) sql.write.run(epoch, lastId, unexpanded, open, dead, unhandled, expired, tombstones);
    },
    undo() {
      known = undefined;
      row = before;
    },
    counts() {
      const { unexpanded, open, running, dead, unhandled, expired, tombstones } = row;
      return { unexpanded, waiting: open - running, running, dead, unhandled, expired, tombstones };
    },
  };
}
