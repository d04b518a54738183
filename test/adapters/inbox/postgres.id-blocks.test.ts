import { expect, test } from "vitest";
import { BLOCK } from "../../../adapters/inbox/postgres/schema/tables.ts";
import { encodeExpansions, MOST_JOBS } from "../../../adapters/inbox/postgres/store/encode-batch.ts";
import { mail, raw, type FullDelivery } from "../../suites/inbox/deliveries.ts";
import { storeAll } from "../../suites/inbox/verbs.ts";
import { openProcesses, type Processes } from "./postgres-processes.ts";
import { NOW, openTables } from "./postgres-tables.ts";

/** A delivery of many entries, each for several consumers. */
function crowd(entries: number, consumers: number, accountId = 2002): FullDelivery {
  const jobs = Array.from({ length: consumers }, (_, index) => ({ consumer: `c${index}` }));
  const given = mail(
    Array.from({ length: entries }, (_, index) => ({ id: `m${index}`, jobs })),
    { accountId },
  );
  // One of them comes twice.
  const unique = { key: "tracking:1:7", content: "open" };
  for (const event of [given.events[1], given.events.at(-1)]) Object.assign(event!, { unique });
  return given;
}

/** Jobs, their ids, and the deliveries that share a block of ids with another one's. */
async function countsOf({ rows }: Processes): Promise<object> {
  const [counts] = await rows<object>(`select count(*)::int as jobs, count(distinct id)::int as ids,
    (select count(*)::int from (select from hookline.job group by id / ${BLOCK}, writer having count(distinct delivery) > 1) as shared) as shared
    from hookline.job`);
  return counts ?? {};
}

test("an expansion with more jobs than a block has ids takes several blocks, and no other commit's", async () => {
  const processes = await openProcesses();
  const { inbox } = await processes.start();
  const many = crowd(1_000, 9);
  await storeAll(inbox, raw(many));
  const [waiting] = await inbox.unexpanded(1);
  const result = await inbox.expand([{ id: waiting!.id, events: many.events, cursor: undefined }]);
  expect(result).toEqual([{ duplicates: [999], conflicts: [] }]);
  await storeAll(inbox, mail(["k"], { accountId: 3003 }));
  expect(await inbox.unexpanded(1)).toEqual([]);
  expect(await countsOf(processes)).toEqual({ jobs: 8_992, ids: 8_992, shared: 0 });
  expect(inbox.stats()).toMatchObject({ waiting: 8_992 });
  await inbox.jobs.erase(2002);
  expect(await countsOf(processes)).toEqual({ jobs: 1, ids: 1, shared: 0 });
});

test("deliveries of one call with more jobs than a block has ids go into several commits", async () => {
  const processes = await openProcesses();
  const { inbox } = await processes.start();
  const given = [1, 2, 3].map((accountId) =>
    mail(Array.from({ length: 2_000 }, (_, index) => `${accountId} ${index}`)),
  );
  const stored = await storeAll(inbox, ...given);
  expect(stored.map(({ expanded }) => expanded)).toEqual([true, true, true]);
  await storeAll(inbox, mail(["k"]));
  expect(await countsOf(processes)).toEqual({ jobs: 6_001, ids: 6_001, shared: 0 });
});

test("the server refuses a commit with more ids than a block has, and its delivery waits as before", async () => {
  const tables = await openTables();
  const process = tables.join();
  const worker = await tables.work();
  const [id = ""] = await process.store(raw(mail(["a"])));
  const { events } = mail(Array.from({ length: BLOCK }, (_, index) => String(index)));
  const batch = encodeExpansions([{ id, events, cursor: undefined }], { now: NOW, dedupeAfter: 0 });
  await expect(process.writer.store(batch, worker.id)).rejects.toMatchObject({
    code: "storage-failed",
    message: expect.stringContaining(`a commit needs ${BLOCK} ids, and has ${BLOCK - 1} at most`),
  });
  expect(await tables.pool.query(`select delivery from ${tables.ident}.unexpanded`)).toEqual([
    { delivery: Number(id) },
  ]);
  await process.expand(worker.id, { id, events: events.slice(0, MOST_JOBS), cursor: undefined });
  expect(await tables.pool.query(`select delivery from ${tables.ident}.unexpanded`)).toEqual([]);
});
