import { expect, test } from "vitest";
import type { Pool } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { createRetentionSteps } from "../../../adapters/inbox/postgres/upkeep/retention-steps.ts";
import { openTables } from "./postgres-tables.ts";

test("which writers have no job is found by one scan of the jobs, before the first lock, however many there are", async () => {
  const { pool, ident } = await openTables();
  await pool.query(`insert into ${ident}.writer (seq, first_id, last_id, used_at)
    select 1, 1, 2, now() - interval '1 hour' from generate_series(1, 300)`);
  await pool.query(`insert into ${ident}.job (shard, id, writer, day, delivery, entry, type, consumer, received_at)
    select nth % 64, nth, nth % 100, 0, 1, 0, 'email.created', 'default', 1 from generate_series(1, 20000) as nth`);
  const plans: string[] = [];
  const explaining: Pool = {
    ...pool,
    transaction: (run) =>
      pool.transaction(async (queries) => {
        await queries.query("set local work_mem = '64kB'");
        return run({
          ...queries,
          async query<R>(text: string, values?: readonly unknown[]) {
            const plan = text.includes("for update") ? await queries.query(`explain analyze ${text}`) : [];
            plans.push(JSON.stringify(plan));
            return queries.query<R>(text, values);
          },
        });
      }),
  };
  await createRetentionSteps(explaining, () => ident).removeWriters();
  expect(plans[0]).toMatch(/LockRows.*hashed SubPlan.*Scan on used .*loops=1\)/);
  const [left] = await pool.query<{ count: number }>(
    `select count(*)::int as count from ${ident}.writer where used_at < now() - interval '1 minute'`,
  );
  expect(left?.count).toBeLessThan(100); // of 300; jobs name the others
});
