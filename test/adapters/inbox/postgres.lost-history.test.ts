import { expect, onTestFinished, test } from "vitest";
import { mail } from "../../suites/inbox/deliveries.ts";
import { claimOne, done, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
import { startPostgres } from "../../support/postgres.ts";
import { openProcesses } from "./postgres-processes.ts";

test("a server that lacks commits that a worker has seen gives their ids anew: the worker loads anew, though its heartbeat is there", async () => {
  const processes = await openProcesses();
  const { inbox, heard } = await processes.start();
  await storeAll(inbox, mail(["kept"]));
  const [before] = await processes.rows<{ block: string }>("select last_value as block from hookline.block");
  await processes.rows("create table hookline.writers as select * from hookline.writer");
  await storeAll(inbox, mail(["lost"]));
  await inbox.claim({ max: 0, mergeMax: 1 }); // what was stored is in memory
  const last = (Number(before?.block) + 1) * 4_096 - 1;
  for (const [table, id] of [
    ["job", "id"],
    ["delivery", "id"],
    ["job_list", "first_job"],
  ])
    await processes.rows(`delete from hookline.${table} where ${id} > $1`, [last]);
  await processes.rows(
    "update hookline.writer as w set (seq, first_id, last_id) = (select seq, first_id, last_id from hookline.writers as o where o.id = w.id)",
  );
  await processes.rows("select setval('hookline.block', $1)", [Number(before?.block)]);
  await processes.passing(() => expect(heard).toMatchObject({ begun: 2, ended: 1 }));
  expect(heard.causes).toMatchObject([{ code: "history-lost" }]);
  await storeAll(inbox, mail(["new"]));
  const seen: string[] = [];
  await processes.passing(async () => {
    const { claims } = await inbox.claim({ max: 5, mergeMax: 1 });
    seen.push(...recordsOf(claims).flat());
    expect(seen.toSorted()).toEqual(["kept", "new"]);
  });
});

test("what was claimed on a server does not end on another one, which may have given its id to another job", async () => {
  const server = await startPostgres();
  onTestFinished(() => server.remove());
  const processes = await openProcesses(server.connectionString);
  const { inbox, heard } = await processes.start();
  await storeAll(inbox, mail(["a"]));
  const claim = await claimOne(inbox);
  await server.stop("fast");
  await server.start();
  const settling = inbox.settle([{ claim, outcomes: [done] }]);
  await processes.passing(() => expect(heard.begun).toBe(2));
  expect(await settling).toEqual([false]);
  expect(await processes.rows("select id from hookline.job")).toHaveLength(1);
});
