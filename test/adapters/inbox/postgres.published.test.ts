import { expect, test } from "vitest";
import { foldEndedCounts } from "../../../adapters/inbox/postgres/schema/ended-counts.ts";
import type { JobOutcome } from "hookline/adapter";
import { mail } from "../../suites/inbox/deliveries.ts";
import { claimAll, done, settleAll, storeAll } from "../../suites/inbox/verbs.ts";
import { openProcesses } from "./postgres-processes.ts";

/** A publication of all tables, as Debezium makes by default, takes no change of a row without a key that it can publish. */
async function published() {
  const processes = await openProcesses();
  const process = await processes.start();
  await processes.sql.query("create publication everything for all tables");
  return { ...processes, ...process };
}

test("in a published database a job dies of its window, and others go on", async () => {
  const { inbox, clock, rows, log } = await published();
  await storeAll(inbox, mail([{ id: "a", lane: "one" }, { id: "b", lane: "one" }, "c"]));
  const claims = await claimAll(inbox);
  const over: JobOutcome = { to: "dead", ofWindow: true, error: { name: "Error", message: "no", at: clock.now() } };
  expect(await inbox.settle(claims.map((claim, place) => ({ claim, outcomes: [place === 0 ? over : done] })))).toEqual([
    true,
    true,
  ]);
  expect(await rows("select count(*)::int as n from hookline.lane_window")).toEqual([{ n: 1 }]);
  const [next] = await claimAll(inbox);
  await settleAll(inbox, next!, done);
  expect(await rows("select count(*)::int as n from hookline.lane_window")).toEqual([{ n: 0 }]);
  expect(log.of("inbox-failed")).toEqual([]);
});

test("in a published database jobs are dropped, an account is erased, and counts are folded", async () => {
  const { inbox, sql, rows } = await published();
  await storeAll(inbox, mail(["a", "b"]), mail(["c"]));
  expect(await inbox.jobs.drop({ states: ["waiting"] })).toBe(3);
  await storeAll(inbox, mail(["d"]));
  await inbox.jobs.erase(2002);
  await sql.query(
    "insert into hookline.ended_count select 'dead', 'email.created', 'c', 'E', 1, 5 from generate_series(1, 3)",
  );
  await sql.query(foldEndedCounts("hookline"));
  expect(await rows("select n::int, newest_at::int from hookline.ended_count")).toEqual([{ n: 3, newest_at: 5 }]);
});

test("each table has a primary key, of columns that can be published", async () => {
  const { rows } = await published();
  const found =
    await rows(`select relname from pg_class as c where relnamespace = 'hookline'::regnamespace and relkind in ('r', 'p')
    and not exists (select from pg_index as i where i.indrelid = c.oid and indisprimary and not exists (
      select from pg_attribute as a where a.attrelid = c.oid and a.attnum = any (i.indkey) and attgenerated <> ''))`);
  expect(found).toEqual([]);
});
