import type { DatabaseSync } from "node:sqlite";

/** Small texts of other modules, in the file. */
export interface KeyValueTable {
  keyValue(key: string): string | undefined;
  /** Null removes it. */
  putKeyValue(pair: { readonly key: string; readonly value: string | null; readonly account: number | null }): void;
  /** @returns how many texts there were */
  forgetAccount(accountId: number): number;
}

export function createKeyValueTable(db: DatabaseSync): KeyValueTable {
  const sql = {
    get: db.prepare("SELECT value FROM key_value WHERE key = ?"),
    put: db.prepare("INSERT OR REPLACE INTO key_value VALUES (?, ?, ?)"),
    remove: db.prepare("DELETE FROM key_value WHERE key = ?"),
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
    forgetAccount: (accountId) => Number(sql.forgetAccount.run(accountId).changes),
  };
}
