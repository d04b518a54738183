import type { DatabaseSync } from "node:sqlite";
import type { JobSelection } from "../../../../src/adapter.ts";
import type { LoadedJob } from "../client/thread-protocol.ts";
import type { FileState } from "../thread/file-state.ts";
import type { JobFinder } from "../thread/find-jobs.ts";
import type { WindowTable } from "../thread/lane-window-table.ts";
import type { JobChanges } from "./change-jobs.ts";
import type { SecureErase } from "./secure-erase.ts";

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
  /** The next request cannot be carried out: it is not to stand in the way of the others. */
  failRequest(reason: { readonly at: number; readonly error: string }): void;
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

export interface AdminRequestsDeps {
  readonly state: FileState;
  readonly finder: JobFinder;
  readonly changes: JobChanges;
  readonly windows: Pick<WindowTable, "sweepWindows">;
  readonly secureErase: SecureErase;
}

/** Jobs of one commit. */
const JOBS = 200;

export function createAdminRequests(db: DatabaseSync, deps: AdminRequestsDeps): AdminRequests {
  const { state, finder, changes, windows, secureErase } = deps;
  const table = createRequestTable(db);

  /** What a page takes, and where the next begins. */
  function pick({ id, cursor, selection }: Chosen): { ids: readonly number[]; next: number | undefined } {
    if ("ids" in selection) {
      const end = cursor + JOBS;
      const ids = selection.ids.slice(cursor, end).map(Number).filter(Number.isSafeInteger);
      return { ids, next: end < selection.ids.length ? end : undefined };
    }
    const { jobs, next } = finder.find({ ...selection, after: cursor, before: id, limit: JOBS });
    return { ids: jobs.map((job) => job.id), next };
  }

  function take(request: OpenRequest & { readonly cursor: number }, nobodyWorks: boolean): Taken {
    const { id, verb, selection, cursor } = request;
    if (verb === "erase") {
      const { jobs, unexpanded, next } = changes.erase({ accountId: selection, after: cursor, until: id });
      return { added: [], removed: jobs, count: jobs.length + unexpanded, next: next ?? null };
    }
    const { ids, next } = pick({ id, cursor, selection });
    const added = verb === "replay" ? changes.replay(ids) : [];
    const removed = verb === "drop" ? changes.drop(ids, { nobodyWorks }) : [];
    return { added, removed, count: added.length + removed.length, next };
  }

  return {
    addRequest({ at, ...request }) {
      const id = state.nextId();
      table.add(id, request, at);
      return id;
    },
    requestState: (id) => ({ ...table.state(id), epoch: state.epoch }),
    runRequest({ at, idleEpoch }) {
      if (idleEpoch !== undefined) state.assertEpoch(idleEpoch);
      const request = table.next();
      if (request === undefined) return undefined;
      const { id, cursor } = request;
      if (cursor === null) {
        const isErased = secureErase.want(id);
        if (isErased) table.answer(id, at);
        return { added: [], removed: [], isHeldUp: !isErased };
      }
      const { added, removed, count, next } = take({ ...request, cursor }, idleEpoch !== undefined);
      table.advance(id, count, next ?? null);
      // What is gone may have been all that had inherited.
      if (typeof next !== "number" && request.verb !== "replay") windows.sweepWindows();
      if (next === null) secureErase.want(id);
      if (next === undefined) table.answer(id, at);
      return { added, removed, isHeldUp: false };
    },
    failRequest({ at, error }) {
      const request = table.next();
      if (request !== undefined) table.answer(request.id, at, error);
    },
  };
}

interface Chosen extends Pick<OpenRequest, "id"> {
  readonly cursor: number;
  readonly selection: Extract<AdminRequest, { readonly verb: "drop" | "replay" }>["selection"];
}

interface Taken {
  readonly added: readonly LoadedJob[];
  readonly removed: readonly number[];
  readonly count: number;
  /** Undefined: it is answered. Null: what it took is to be overwritten first. */
  readonly next: number | null | undefined;
}

/** What is to be done, and to what. */
export type AdminRequest =
  | { readonly verb: "replay" | "drop"; readonly selection: JobSelection }
  | { readonly verb: "erase"; readonly selection: number };

/** One that is not answered. */
type OpenRequest = AdminRequest & {
  /** All that was there when it was made has a lower one. */
  readonly id: number;
  /** Null: it is done, but the bytes of what was erased are still to be overwritten. */
  readonly cursor: number | null;
};

/** How a request stands. */
export interface RequestState {
  /** Undefined: it waits, or it was answered so long ago that it is forgotten. */
  readonly answer: { readonly count: number; readonly error: string | undefined } | undefined;
  /** Changes whenever something was done for any of them. */
  readonly progress: string;
}

/** Requests in the file. Times in milliseconds since the epoch. */
interface RequestTable {
  add(id: number, request: AdminRequest, at: number): void;
  /** The oldest open one; those that only wait for their bytes to be overwritten come last. */
  next(): OpenRequest | undefined;
  /** So many more were taken, and this is where to go on. */
  advance(id: number, by: number, cursor: number | null): void;
  /** Forgets what was answered long ago. */
  answer(id: number, at: number, error?: string): void;
  state(id: number): RequestState;
}

/** For so long an answer can be looked at. */
const KEEP_MS = 24 * 60 * 60 * 1_000;

function createRequestTable(db: DatabaseSync): RequestTable {
  const sql = {
    add: db.prepare("INSERT INTO request (id, verb, selection, cursor, asked_at) VALUES (?, ?, ?, 0, ?)"),
    next: db.prepare(
      "SELECT id, verb, selection, cursor FROM request WHERE answered_at IS NULL ORDER BY cursor IS NULL, id LIMIT 1",
    ),
    advance: db.prepare("UPDATE request SET count = count + ?, cursor = ? WHERE id = ?"),
    // What it named is not stored: it may say whose account was erased.
    answer: db.prepare("UPDATE request SET selection = NULL, answered_at = ?, error = ? WHERE id = ?"),
    forget: db.prepare("DELETE FROM request WHERE answered_at < ?"),
    answered: db.prepare("SELECT count, error FROM request WHERE id = ? AND answered_at IS NOT NULL"),
  };

  return {
    add(id, { verb, selection }, at) {
      sql.add.run(id, verb, JSON.stringify(selection), at);
    },
    next() {
      const row = sql.next.get();
      if (row === undefined) return undefined;
      return { ...row, selection: JSON.parse(String(row["selection"])) } as unknown as OpenRequest;
    },
    advance(id, by, cursor) {
      sql.advance.run(by, cursor, id);
    },
    answer(id, at, error) {
      sql.answer.run(at, error ?? null, id);
      sql.forget.run(at - KEEP_MS);
    },
    state(id) {
      const { id: open, cursor } = sql.next.get() ?? {};
      const row = sql.answered.get(id) as { readonly count: number; readonly error: string | null } | undefined;
      const answer = row && { count: row.count, error: row.error ?? undefined };
      return { answer, progress: `${String(open)} ${String(cursor)}` };
    },
  };
}
