import { expect, test } from "vitest";
import { mail } from "../../suites/inbox/deliveries.ts";
import { claimAll, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
import { openProcesses } from "./postgres-processes.ts";

const LEASE_MS = 2_000;

/** The bodies of one step come so late that another process may soon take over. */
const LATE_ONCE = `
  create sequence hookline.reads;
  create function hookline.late(body bytea) returns bytea volatile language plpgsql as $$ begin
    if nextval('hookline.reads') = 1 then perform pg_sleep(${(0.7 * LEASE_MS) / 1_000}); end if; return body; end $$;
  alter table hookline.delivery rename to kept;
  create view hookline.delivery as select day, id, received_at, sent_at, source, signed_by, signature, headers, account, subscription, jobs, absent,
    hookline.late(body) as body from hookline.kept`;

test("a claim that gave all back, because their deliveries are not in the tables, says that what is behind them is due", async () => {
  const processes = await openProcesses();
  const storing = await processes.start();
  await storeAll(storing.inbox, ...["a", "b", "c", "d"].map((id) => mail([id])));
  await storing.inbox.close();
  const { inbox, clock } = await processes.start();
  await processes.rows("create table hookline.taken as select * from hookline.delivery");
  await processes.rows("delete from hookline.delivery");
  const { claims, nextDueAt } = await inbox.claim({ max: 2, mergeMax: 1 });
  expect([claims, nextDueAt]).toEqual([[], clock.now()]);
  await processes.rows("insert into hookline.delivery select * from hookline.taken");
  expect(await claimAll(inbox)).toHaveLength(2);
});

test("a claim whose step came late gives nothing, and says that its jobs are due", async () => {
  const processes = await openProcesses();
  const storing = await processes.start();
  await storeAll(storing.inbox, mail(["a"]));
  await storing.inbox.close();
  const { inbox, clock } = await processes.start({ leaseMs: LEASE_MS });
  await processes.sql.query(LATE_ONCE);
  const { claims, nextDueAt } = await inbox.claim({ max: 2, mergeMax: 1 });
  expect([claims, nextDueAt]).toEqual([[], clock.now()]);
  expect(recordsOf(await claimAll(inbox))).toEqual([["a"]]);
});
