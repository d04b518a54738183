import type { WorkingInbox } from "hookline/adapter";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { mail, one, raw } from "../../suites/inbox/deliveries.ts";
import { openInline } from "./inline-thread.ts";
import { telling } from "./observed-thread.ts";
import { DONE, onDisk } from "./on-disk.ts";

/** As the file says them, when three commits more have had their chance to take marks back. */
async function countsAfterCommits(inbox: WorkingInbox, file: string): Promise<object> {
  const look = new DatabaseSync(file, { readOnly: true });
  onTestFinished(() => look.close());
  for (let commits = 0; commits < 3; commits += 1) await inbox.store([raw(mail(["later"]))]);
  return { ...look.prepare("SELECT open, running FROM state").get() };
}

test("a job that is dropped while it is being claimed leaves no mark in the file, nor do those of its run", async () => {
  let onDrop: (() => unknown) | undefined;
  const { inbox, file } = await onDisk({
    openThread: telling(openInline, ({ tasks }) => {
      if (tasks.some(({ verb }) => verb === "runRequest")) [onDrop] = [undefined, onDrop?.()];
    }),
  });
  await inbox.store([mail([one("a", "k"), one("b", "k")])]);
  const [dropped] = (await inbox.jobs.find({ limit: 1 })).jobs;
  const claiming = new Promise((resolve) => {
    onDrop = () => resolve(inbox.claim({ max: 1, mergeMax: 10 }));
  });
  expect(await inbox.jobs.drop({ ids: [dropped?.id ?? ""] })).toBe(1);
  expect(await claiming).toMatchObject({ claims: [] });
  expect(await countsAfterCommits(inbox, file)).toEqual({ open: 1, running: 0 });
  expect((await inbox.claim({ max: 1, mergeMax: 10 })).claims).toMatchObject([{ jobs: [{ entry: 1, deaths: 0 }] }]);
});

test("where one of a run is erased the others stay marked until its handler has ended, and then run again", async () => {
  const { inbox, file } = await onDisk({ openThread: openInline });
  await inbox.store([mail([one("a", "k")], { accountId: 7 }), mail([one("b", "k")], { accountId: 8 })]);
  const { claims } = await inbox.claim({ max: 1, mergeMax: 10 });
  const [claim] = claims;
  expect(claim?.jobs).toHaveLength(2);
  await inbox.jobs.erase(7);
  expect(await countsAfterCommits(inbox, file)).toEqual({ open: 1, running: 1 });
  expect(await inbox.settle(claims.map((lost) => ({ claim: lost, outcomes: [DONE, DONE] })))).toEqual([false]);
  expect(await countsAfterCommits(inbox, file)).toEqual({ open: 1, running: 0 });
  expect((await inbox.claim({ max: 1, mergeMax: 10 })).claims).toMatchObject([
    { jobs: [{ id: claim?.jobs[1]?.id, deaths: 0 }] },
  ]);
});
