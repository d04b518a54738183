import { createHash } from "node:crypto";
import type { KeyValues } from "../../../../src/adapter.ts";
import type { Pool } from "../connection/pool.ts";

interface PostgresKeyValuesDeps {
  readonly ident: () => string;
  readonly pool: Pool;
}

/** Small texts of other modules, in a table of the inbox. Any process may set them: the last one to commit wins. */
export function createPostgresKeyValues({ ident, pool }: PostgresKeyValuesDeps): KeyValues {
  return {
    async get(key) {
      const [row] = await pool.query<{ value: string }>(`select value from ${ident()}.key_value where key = $1`, [
        hashOf(key),
      ]);
      return row?.value;
    },
    // A transaction, even of one statement: only its commit is flushed whatever the role's settings are.
    set: (key, value, accountId) =>
      pool.transaction(async (queries) => {
        if (value === undefined) await queries.query(`delete from ${ident()}.key_value where key = $1`, [hashOf(key)]);
        else
          await queries.query(
            /* sql */ `insert into ${ident()}.key_value values ($1, $2, $3)
             on conflict (key) do update set account = excluded.account, value = excluded.value`,
            [hashOf(key), accountId ?? null, value],
          );
      }),
  };
}

const hashOf = (key: string): string => createHash("sha256").update(key).digest("base64url");
