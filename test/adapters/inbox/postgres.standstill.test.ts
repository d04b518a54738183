import { expect, test } from "vitest";
import { mail } from "../../suites/inbox/deliveries.ts";
import { claimAll, claimOne, done, storeAll } from "../../suites/inbox/verbs.ts";
import { eventually } from "../../support/eventually.ts";
import { lockTables } from "../../support/postgres/lock-tables.ts";
import { openProcesses } from "./postgres-processes.ts";

test("a lane's window that cannot be written, while others have locked its table, is refused, holds up no other job, and holds later", async () => {
  const processes = await openProcesses();
  const { inbox, clock, heard } = await processes.start();
  await storeAll(inbox, mail([{ id: "dies", lane: "one" }]), mail([{ id: "behind", lane: "one" }]));
  const dying = await claimOne(inbox);
  const release = await lockTables(processes.sql, "lane_window");
  const error = { name: "Error", message: "no", at: clock.now() };
  const settle = () => inbox.settle([{ claim: dying, outcomes: [{ to: "dead", error, ofWindow: true }] }]);
  const refused = expect(settle()).rejects.toThrow("lock timeout");
  for (const id of ["a", "b", "c"]) {
    await storeAll(inbox, mail([{ id, lane: id }]));
    await processes.passing(async () => {
      const claim = await claimOne(inbox);
      expect(claim.jobs).toHaveLength(1);
      expect(await inbox.settle([{ claim, outcomes: [done] }])).toEqual([true]);
    });
  }
  await refused;
  expect(heard).toMatchObject({ begun: 1, ended: 0, lost: [], causes: [] });
  await release();
  await processes.passing(async () => expect(await settle()).toEqual([true]));
});

test("a worker that cannot begin again says so each time, and leaves no registration behind", async () => {
  const processes = await openProcesses();
  const { inbox, heard } = await processes.start();
  await storeAll(inbox, mail(["a"]));
  await processes.rows("alter function hookline.free_orphans() rename to other");
  await processes.rows("update hookline.worker set alive = false");
  const alive = async (): Promise<unknown> =>
    (await processes.rows<{ alive: number }>("select count(*)::int as alive from hookline.worker where alive"))[0];
  await processes.passing(() => expect(heard.ended).toBeGreaterThan(3));
  expect(heard.causes.slice(1)).toContainEqual(expect.objectContaining({ code: "schema-missing" }));
  await processes.rows("alter function hookline.other() rename to free_orphans");
  await processes.passing(() => expect(heard.begun).toBe(2));
  await eventually(async () => expect(await alive()).toEqual({ alive: 1 }));
});

test("a job that the tables have and the memory lacks is told of by its age", async () => {
  const processes = await openProcesses();
  const { inbox } = await processes.start();
  await storeAll(inbox, mail(["a"]), mail(["b"]));
  expect(await claimAll(inbox)).toHaveLength(2);
  await processes.rows(
    `insert into hookline.job (shard, id, writer, day, delivery, entry, type, consumer, received_at)
     select shard, 0, writer, day, delivery, entry, type, consumer, 5000 from hookline.job limit 1`,
  );
  await processes.passing(() => expect(inbox.stats()).toMatchObject({ waiting: 0, oldestWaitingAt: 5_000 }));
});
