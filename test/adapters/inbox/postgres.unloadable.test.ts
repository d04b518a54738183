import { expect, test } from "vitest";
import { mail } from "../../suites/inbox/deliveries.ts";
import { claimAll, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
import { openProcesses } from "./postgres-processes.ts";

test("a worker that cannot load its shards says why where it is asked for claims, counts what waits in the tables, and goes on by itself", async () => {
  const processes = await openProcesses();
  const first = await processes.start();
  await processes.rows("alter table hookline.lane_window rename to other");
  await storeAll(first.inbox, mail(["a", "b"].map((id) => ({ id, lane: id }))));
  const { inbox, heard } = await processes.start();
  await first.inbox.close();
  await processes.passing(async () => {
    expect(inbox.stats().workers).toMatchObject({ share: 1 });
    await expect(inbox.claim({ max: 5, mergeMax: 1 })).rejects.toMatchObject({ code: "schema-missing" });
  });
  await processes.passing(() =>
    expect(inbox.stats()).toMatchObject({ waiting: 2, oldestWaitingAt: expect.any(Number) }),
  );
  expect(heard).toMatchObject({ begun: 1, ended: 0 });
  await processes.rows("alter table hookline.other rename to lane_window");
  const seen: (readonly string[])[] = [];
  await processes.passing(async () => {
    seen.push(...recordsOf(await claimAll(inbox))); // shards come one by one
    expect(seen).toHaveLength(2);
  });
});

test("one shard that cannot be read costs its own lanes alone", async () => {
  const processes = await openProcesses();
  const first = await processes.start();
  await storeAll(first.inbox, mail(["a", "b", "c"].map((id) => ({ id, lane: id }))));
  const [broken] = await processes.rows<{ shard: number }>("select min(shard)::int as shard from hookline.job");
  // Reading a window of this shard divides by zero.
  await processes.rows(`alter table hookline.lane_window rename to other`);
  await processes.rows(
    `create view hookline.lane_window as select shard, lane, since / (case when shard = ${broken?.shard} then 0 else 1 end) as since, up_to, key from hookline.other`,
  );
  await processes.rows(
    `insert into hookline.other (shard, lane, since, up_to, key) values (${broken?.shard}, 'x', 1, 1, md5('x'))`,
  );
  const { inbox } = await processes.start();
  await first.inbox.close();
  await processes.passing(async () => {
    await inbox.claim({ max: 5, mergeMax: 1 }).catch(() => {});
    expect(inbox.stats()).toMatchObject({ waiting: 1, running: 2 });
  });
});
