import type { DatabaseSync } from "node:sqlite";

/** Small texts of other modules, in the file. */
export interface KeyValueTable {
  keyValue(key: string): string | undefined;
  /** Null removes it. */
  putKeyValue(pair: { readonly key: string; readonly value: string | null; readonly account: number | null }): void;
  /** Pauses, which any process may change: see `src/inbox/pauses.ts`. */
  pauses(): readonly string[];
  /** Undefined removes it. @returns whether there was one */
  putPause(pause: { readonly key: string; readonly value: string | undefined }): boolean;
  /** @returns how many texts there were */
  forgetAccount(accountId: number): number;
}

/** Before the keys of pauses. */
const PAUSE = "flow/pause/";

export function createKeyValueTable(db: DatabaseSync): KeyValueTable {
  const sql = {
    get: db.prepare("SELECT value FROM key_value WHERE key = ?"),
    put: db.prepare("INSERT OR REPLACE INTO key_value VALUES (?, ?, ?)"),
    remove: db.prepare("DELETE FROM key_value WHERE key = ?"),
    pauses: db.prepare(`SELECT value FROM key_value WHERE key >= '${PAUSE}' AND key < '${PAUSE}~'`),
    forgetAccount: db.prepare("DELETE FROM key_value WHERE account = ?"),
  };
  return {
    keyValue(key) {
      const value = sql.get.get(key)?.["value"];
      return value === undefined ? undefined : String(value);
    },
    putKeyValue({ key, value, account }) {
      if (value === null) sql.remove.run(key);
      else sql.put.run(key, value, account);
    },
    pauses: () => sql.pauses.all().map(({ value }) => String(value)),
    putPause({ key, value }) {
      const wasThere = sql.remove.run(PAUSE + key).changes > 0;
      if (value !== undefined) sql.put.run(PAUSE + key, value, null);
      return wasThere;
    },
    forgetAccount: (accountId) => Number(sql.forgetAccount.run(accountId).changes),
  };
}
