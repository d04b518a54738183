import type { DatabaseSync } from "node:sqlite";
import type { ErasedRows, JobSelection } from "../../../../src/adapter.ts";
import { addErased, NOTHING_ERASED } from "../../../../src/inbox/port/jobs.ts";
import type { LoadedJob } from "../thread/records.ts";
import { cutWal } from "../connection/wal.ts";
import type { FileState } from "../thread/file-state.ts";
import type { JobFinder } from "./find-jobs.ts";
import { toNumber } from "../schema/columns.ts";
import type { WindowTable } from "../schema/lane-window-table.ts";
import type { JobChanges } from "./change-jobs.ts";

/**
 * Admin requests (replay, drop, erase). The caller stores a request; the process that works carries it out, or, when no process works, whoever has its lock.
 * A page is one commit with its cursor, so that a crash neither loses nor doubles anything.
 */
export interface AdminRequests {
  /** @returns its id */
  addRequest(request: AdminRequest & { readonly at: number }): number;
  /** The state of a request, and the current epoch. */
  requestState(id: number): RequestState & { readonly epoch: number };
  /**
   * A page of the next request; undefined when none is open.
   * @throws FileError `epoch-stale` when another process took over from a caller that does not work
   */
  runRequest(turn: RunTurn): RequestPage | undefined;
  /** The id of the next request, which may be one that cannot be read; undefined when none is open. */
  nextRequest(): number | undefined;
  /** Whether an open request takes jobs away: none of these may run any more. */
  hasRemovals(): boolean;
  /**
   * A request cannot be carried out: it is not to stand in the way of the others.
   * @returns whether it was open
   * @throws FileError `epoch-stale` as `runRequest`
   */
  failRequest(failure: RunTurn & { readonly id: number; readonly error: string }): boolean;
}

interface RunTurn {
  /** Now. */
  readonly at: number;
  /** Nobody works: what it was when the caller got the lock. Undefined for the process that works. */
  readonly idleEpoch: number | undefined;
}

/** What one page did. */
interface RequestPage {
  readonly added: readonly LoadedJob[];
  readonly removed: readonly number[];
  /** It is to be tried again a little later. */
  readonly isHeldUp: boolean;
}

/** Overwrites what was erased. */
export interface SecureErase {
  /**
   * Outside of any transaction. SQLite overwrites what is erased in the file (`secure_delete`), but the log beside it keeps older pages until
   * all of it is in the file and it is cut off.
   */
  afterCommit(): void;
}

export interface AdminRequestsDeps {
  readonly state: FileState;
  readonly finder: JobFinder;
  readonly changes: JobChanges;
  readonly windows: Pick<WindowTable, "sweepWindows">;
}

/** Jobs of one commit. */
const JOBS = 200;
/** For so long an answer can be looked at. */
const KEEP_MS = 24 * 60 * 60 * 1_000;
/** How long an erasure waits for others who read the log, milliseconds: deliveries wait meanwhile. */
const PATIENCE_MS = 100;

export function createAdminRequests(db: DatabaseSync, deps: AdminRequestsDeps): AdminRequests & SecureErase {
  const { state, finder, changes, windows } = deps;
  // Those that only wait for their bytes to be overwritten come last.
  const ofNext = "FROM request WHERE answered_at IS NULL ORDER BY cursor IS NULL, id LIMIT 1";
  const sql = {
    add: db.prepare("INSERT INTO request (id, verb, selection, cursor, asked_at) VALUES (?, ?, ?, 0, ?)"),
    next: db.prepare(`SELECT id, verb, selection, cursor ${ofNext}`),
    nextId: db.prepare(`SELECT id ${ofNext}`),
    removal: db.prepare("SELECT 1 FROM request WHERE answered_at IS NULL AND verb <> 'replay' AND cursor IS NOT NULL"),
    progress: db.prepare(`SELECT concat(id, ' ', cursor) AS progress ${ofNext}`),
    advance: db.prepare(
      "UPDATE request SET count = count + ?, cursor = ?, selection = coalesce(?, selection) WHERE id = ?",
    ),
    // What it named is not stored: it may say whose account was erased. What was erased is.
    answer:
      db.prepare(/* sql */ `UPDATE request SET selection = CASE WHEN verb = 'erase' AND json_valid(selection) THEN selection ->> 'erased' END, answered_at = ?, error = ?
       WHERE id = ? AND answered_at IS NULL`),
    forget: db.prepare("DELETE FROM request WHERE answered_at < ?"),
    answered: db.prepare(
      `SELECT ${toNumber("count")} AS count, error, selection FROM request WHERE id = ? AND answered_at IS NOT NULL`,
    ),
  };
  /** The request whose bytes are to be overwritten behind this commit, and the last one whose bytes were. */
  let [wanted, overwritten]: (number | undefined)[] = [];

  /** The oldest open one. @throws Error where it cannot be read */
  function readNext(): OpenRequest | undefined {
    const row = sql.next.get();
    if (row === undefined) return undefined;
    const selection: unknown = JSON.parse(String(row["selection"]));
    // As a version before asked for an erasure.
    const isAccount = typeof selection === "number";
    const read = isAccount ? { accountId: selection, erased: NOTHING_ERASED } : selection;
    return { ...row, selection: read } as unknown as OpenRequest;
  }

  function answer(id: number, at: number, error: string | null): boolean {
    const isOpen = sql.answer.run(at, error, id).changes === 1;
    sql.forget.run(at - KEEP_MS);
    return isOpen;
  }

  /** What a page takes of a selection, and where the next begins. */
  function pick(selection: JobSelection, { id, cursor }: Cursor): { ids: readonly number[]; next: number | undefined } {
    if ("ids" in selection) {
      const end = cursor + JOBS;
      const given = selection.ids.slice(cursor, end);
      const ids = given
        .filter((one) => String(Number(one)) === one)
        .map(Number)
        .filter(Number.isSafeInteger);
      return { ids, next: end < selection.ids.length ? end : undefined };
    }
    const { jobs, next } = finder.find({ ...selection, after: cursor, before: id, limit: JOBS });
    return { ids: jobs.map((job) => job.id), next };
  }

  function take(request: OpenRequest & Cursor, nobodyWorks: boolean): Taken {
    const { id, verb, selection, cursor } = request;
    if (verb === "erase") {
      const { jobs, rows, next } = changes.erase({ accountId: selection.accountId, after: cursor, until: id });
      const rest = JSON.stringify({ ...selection, erased: addErased(selection.erased, rows) });
      return { added: [], removed: jobs, count: rows.count, next: next ?? null, rest };
    }
    const { ids, next } = pick(selection, request);
    const added = verb === "replay" ? changes.replay(ids) : [];
    const removed = verb === "drop" ? changes.drop(ids, { nobodyWorks }) : [];
    return { added, removed, count: added.length + removed.length, next, rest: null };
  }

  return {
    addRequest({ at, verb, selection }) {
      const id = state.nextId();
      sql.add.run(id, verb, JSON.stringify(selection), at);
      return id;
    },
    requestState(id) {
      const row = sql.answered.get(id) as AnsweredRow | undefined;
      const erased = JSON.parse(row?.selection ?? "null") as ErasedRows | null;
      const given = row && { count: row.count, error: row.error ?? undefined, erased: erased ?? undefined };
      return { answer: given, progress: String(sql.progress.get()?.["progress"]), epoch: state.epoch };
    },
    runRequest({ at, idleEpoch }) {
      if (idleEpoch !== undefined) state.assertEpoch(idleEpoch);
      const request = readNext();
      if (request === undefined) return undefined;
      const { id, cursor } = request;
      if (cursor === null) {
        const isHeldUp = overwritten !== id;
        if (isHeldUp) wanted = id;
        else answer(id, at, null);
        return { added: [], removed: [], isHeldUp };
      }
      const { added, removed, count, next, rest } = take({ ...request, cursor }, idleEpoch !== undefined);
      sql.advance.run(count, next ?? null, rest, id);
      // What is gone may have been all that had inherited.
      if (typeof next !== "number" && request.verb !== "replay") windows.sweepWindows();
      // Also where it was overwritten behind a commit of this page that did not hold.
      if (next === null) [wanted, overwritten] = [id, undefined];
      if (next === undefined) answer(id, at, null);
      return { added, removed, isHeldUp: false };
    },
    hasRemovals: () => sql.removal.get() !== undefined,
    nextRequest() {
      const id = sql.nextId.get()?.["id"];
      return id === undefined ? undefined : Number(id);
    },
    failRequest({ id, at, error, idleEpoch }) {
      if (idleEpoch !== undefined) state.assertEpoch(idleEpoch);
      return answer(id, at, error);
    },
    afterCommit() {
      if (wanted === undefined) return;
      try {
        if (cutWal(db, PATIENCE_MS)) overwritten = wanted;
      } catch {
        // What is wrong with the disk shows at the next commit; the request stays open.
      } finally {
        wanted = undefined;
      }
    },
  };
}

interface Cursor {
  /** All that was there when the request was made has a lower one. */
  readonly id: number;
  readonly cursor: number;
}

interface Taken {
  readonly added: readonly LoadedJob[];
  readonly removed: readonly number[];
  readonly count: number;
  /** Undefined: it is answered. Null: what it took is to be overwritten first. */
  readonly next: number | null | undefined;
  /** What the next page is to know instead of the selection. */
  readonly rest: string | null;
}

interface AnsweredRow {
  readonly count: number;
  readonly error: string | null;
  readonly selection: string | null;
}

/** What is to be done, and to what. */
export type AdminRequest =
  | { readonly verb: "replay" | "drop"; readonly selection: JobSelection }
  | { readonly verb: "erase"; readonly selection: Erasure };

interface Erasure {
  readonly accountId: number;
  /** So far. */
  readonly erased: ErasedRows;
}

/** One that is not answered. */
type OpenRequest = AdminRequest & {
  readonly id: number;
  /** Null: it is done, but the bytes of what was erased are still to be overwritten. */
  readonly cursor: number | null;
};

export interface RequestAnswer {
  readonly count: number;
  /** Of an erasure. */
  readonly erased: ErasedRows | undefined;
}

/** How a request stands. */
export interface RequestState {
  /** Undefined: it waits, or it was answered so long ago that it is forgotten. */
  readonly answer: (RequestAnswer & { readonly error: string | undefined }) | undefined;
  /** Changes whenever something was done for any of them. */
  readonly progress: string;
}
