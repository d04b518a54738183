import type { DatabaseSync } from "node:sqlite";
import type { JobSelection } from "../../../../src/adapter.ts";

/** What is to be done, and to what. */
export type AdminRequest =
  | { readonly verb: "replay" | "drop"; readonly selection: JobSelection }
  | { readonly verb: "erase"; readonly selection: number };

/** One that is not answered. */
export type OpenRequest = AdminRequest & {
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
export interface RequestTable {
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

export function createRequestTable(db: DatabaseSync): RequestTable {
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
