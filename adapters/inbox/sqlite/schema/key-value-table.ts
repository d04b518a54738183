import type { DatabaseSync } from "node:sqlite";
import { withoutReason } from "../../../../src/inbox/pauses.ts";

/** Small texts of other modules, in the file. */
export interface KeyValueTable {
  keyValue(key: string): string | undefined;
  /** Null removes it. */
  putKeyValue(pair: { readonly key: string; readonly value: string | null; readonly account: number | null }): void;
  /** Pauses, which any process may change: see `src/inbox/pauses.ts`. */
  pauses(): readonly string[];
  /** Undefined removes it. Others that ended before a time are removed as well. @returns whether there was one */
  putPause(pause: { readonly key: string; readonly value: string | undefined; readonly endedBefore: number }): boolean;
  /** @returns how many texts there were */
  forgetAccount(accountId: number): number;
  /** Of pauses of an account. @returns how many reasons there were */
  forgetReasons(accountId: number): number;
}

/** Before the keys of pauses. */
const PAUSE = "flow/pause/";
const IS_PAUSE = `key >= '${PAUSE}' AND key < '${PAUSE}~'`;

export function createKeyValueTable(db: DatabaseSync): KeyValueTable {
  const sql = {
    get: db.prepare("SELECT value FROM key_value WHERE key = ?"),
    put: db.prepare("INSERT OR REPLACE INTO key_value VALUES (?, ?, ?)"),
    remove: db.prepare("DELETE FROM key_value WHERE key = ?"),
    pauses: db.prepare(`SELECT key, value FROM key_value WHERE ${IS_PAUSE}`),
    removeEnded: db.prepare(
      `DELETE FROM key_value WHERE ${IS_PAUSE} AND CASE WHEN json_valid(value) THEN json_extract(value, '$.until') END < ?`,
    ),
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
    putPause({ key, value, endedBefore }) {
      const wasThere = sql.remove.run(PAUSE + key).changes > 0;
      sql.removeEnded.run(endedBefore);
      if (value !== undefined) sql.put.run(PAUSE + key, value, null);
      return wasThere;
    },
    forgetAccount: (accountId) => Number(sql.forgetAccount.run(accountId).changes),
    forgetReasons(accountId) {
      let count = 0;
      for (const { key = null, value } of sql.pauses.all()) {
        const erased = withoutReason(String(value), accountId);
        if (erased === undefined) continue;
        sql.put.run(key, erased, null);
        count += 1;
      }
      return count;
    },
  };
}
