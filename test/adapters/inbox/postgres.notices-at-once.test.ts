import { expect, test } from "vitest";
import { notice } from "../../suites/inbox/deliveries.ts";
import { waitsForLock } from "./postgres-rows.ts";
import { openTables } from "./postgres-tables.ts";

test.each([
  ["an older", -1_000, undefined],
  ["a newer", 1_000, "of the other"],
])("where another process stores %s notice of the subscription at once, the newer one stands", async (_, ms, error) => {
  const tables = await openTables();
  const { pool, ident } = tables;
  const { store } = tables.join();
  const errors = () => pool.query<{ error: string | null }>(`select error from ${ident}.subscription`);
  await store(notice("of this one"));
  await pool.query(
    `create table ${ident}.copy as select * from ${ident}.subscription; delete from ${ident}.subscription`,
  );
  let storing: Promise<unknown> | undefined;
  await pool.transaction(async (queries) => {
    await queries.query(
      `insert into ${ident}.subscription (key, subscription, account, resource, source, error, sent_at)
       select key, subscription, account, resource, source, 'of the other', sent_at + $1 from ${ident}.copy`,
      [ms],
    );
    storing = store(notice("of this one"));
    await waitsForLock(tables);
  });
  await storing;
  expect(await errors()).toEqual([{ error: error ?? "of this one" }]);
});
