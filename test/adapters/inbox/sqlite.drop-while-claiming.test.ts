import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { mail, one, raw } from "../../suites/inbox/deliveries.ts";
import { openInline } from "./inline-thread.ts";
import { telling } from "./observed-thread.ts";
import { onDisk } from "./on-disk.ts";

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
  const look = new DatabaseSync(file, { readOnly: true });
  onTestFinished(() => look.close());
  for (let commits = 0; commits < 3; commits += 1) await inbox.store([raw(mail(["later"]))]);
  expect({ ...look.prepare("SELECT open, running FROM state").get() }).toEqual({ open: 1, running: 0 });
  expect((await inbox.claim({ max: 1, mergeMax: 10 })).claims).toMatchObject([{ jobs: [{ entry: 1, deaths: 0 }] }]);
});
