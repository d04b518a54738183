import { createPool, type Pool, type Queries } from "./pool.ts";
import type { Presence } from "../work/postgres-worker.ts";

/** Of the advisory locks by which workers say that they are there. */
const SPACE = 0x486f_6f6b;

/** @param connection that keeps its session: not behind a pooler of transactions */
export function createPresence(connection: Readonly<Record<string, unknown>>, ident: () => string): Presence {
  let pool: Pool | undefined;
  let held: number | undefined;
  const keyOf = (worker: number): string => `hashtext('${ident().replaceAll("'", "''")}') # ${worker}`;

  const open = (): Queries => (pool ??= createPool({ connection, max: 1, applicationName: "hookline presence" }));

  return {
    async hold(worker) {
      if (held === worker) return;
      await open().query(`select pg_advisory_unlock_all()`);
      await open().query(`select pg_advisory_lock_shared(${SPACE}, ${keyOf(worker)})`);
      held = worker;
    },
    async isGone(worker) {
      const [row] = await open().query<{ free: boolean }>(
        `select pg_try_advisory_xact_lock(${SPACE}, ${keyOf(worker)}) as free`,
      );
      return row?.free === true;
    },
    async drop() {
      const closing = pool;
      [pool, held] = [undefined, undefined];
      await closing?.close();
    },
  };
}
