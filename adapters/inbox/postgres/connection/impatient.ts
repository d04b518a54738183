import type { Pool, Queries } from "./pool.ts";

/**
 * For reads without values that are done again soon: who holds a lock for long must not keep connections from what handlers wait for.
 * In one message, so that the limit ends with it.
 */
export function impatient(queries: Queries): Queries {
  return { query: (text) => queries.query(`${LIMIT}; ${text}`) };
}

const LIMIT = "set local lock_timeout = '1s'";

/** The same for statements with values, and for transactions. */
export function impatientPool(pool: Pool): Pool {
  return inTransactions({
    ...pool,
    transaction: (run) =>
      pool.transaction(async (queries) => {
        await queries.query(LIMIT);
        return run(queries);
      }),
  });
}

/** The same for other statements, of a pool whose transactions do not wait for long: each is one of them. */
export function inTransactions(pool: Pool): Pool {
  return { ...pool, query: (text, values) => pool.transaction((queries) => queries.query(text, values)) };
}
