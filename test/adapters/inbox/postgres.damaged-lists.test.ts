import { expect, test } from "vitest";
import { mail } from "../../suites/inbox/deliveries.ts";
import { claimAll, done, findAll, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
import { openProcesses } from "./postgres-processes.ts";

/** What a list of jobs cannot be. */
const DAMAGED: readonly (readonly [name: string, list: string])[] = [
  ["that is no JSON", "garbage"],
  ["that is an object", "{}"],
  ["that is null", "null"],
  ["without lines", '[1,null,"x"]'],
  ["of an empty line", "[[]]"],
  ["that is too deep", "[".repeat(100_000)],
];

/** Three deliveries; the list of the first one is damaged. */
async function damaged(list: string) {
  const processes = await openProcesses();
  const { inbox } = await processes.start();
  // Of one commit: their ids are of one block.
  const stored = await storeAll(inbox, mail(["a"], { accountId: 77 }), mail(["b"]), mail(["c"]));
  const ids = stored.map((one) => ("id" in one ? one.id : ""));
  await processes.rows("update hookline.delivery set jobs = $1 where id = $2", [list, ids[0]]);
  return { ...processes, inbox, ids };
}

test.each(DAMAGED)("the jobs of others are found and replayed beside a list %s", async (_, list) => {
  const { inbox } = await damaged(list);
  const claims = await claimAll(inbox);
  expect(recordsOf(claims)).toEqual([["a"], ["b"], ["c"]]);
  await inbox.settle(claims.map((claim) => ({ claim, outcomes: [done] })));
  expect(await findAll(inbox, {})).toHaveLength(2);
  expect(await inbox.jobs.replay({ states: ["done"] })).toBe(2);
  expect(recordsOf(await claimAll(inbox))).toEqual([["b"], ["c"]]);
});

test.each(DAMAGED)(
  "a delivery with a list %s that outlived its day stays while it has a job, holds up no other, and goes",
  async (_, list) => {
    const { inbox, rows, ids } = await damaged(list);
    const claims = await claimAll(inbox);
    await inbox.settle(claims.slice(1).map((claim) => ({ claim, outcomes: [done] })));
    await rows("update hookline.delivery set day = 0");
    await rows("select hookline.remove_kept(0)");
    expect(await rows("select id::text from hookline.delivery")).toEqual([{ id: ids[0] }]);
    await inbox.settle(claims.slice(0, 1).map((claim) => ({ claim, outcomes: [done] })));
    await rows("select hookline.remove_kept(0)");
    expect(await rows("select id from hookline.delivery")).toEqual([]);
  },
);

test.each(DAMAGED)("an account with a list %s is erased, and nothing of others", async (_, list) => {
  const { inbox, rows } = await damaged(list);
  await inbox.jobs.erase(77);
  expect(await rows("select account::int from hookline.delivery order by id")).toEqual([
    { account: 2002 },
    { account: 2002 },
  ]);
  expect(recordsOf(await claimAll(inbox))).toEqual([["b"], ["c"]]);
});
