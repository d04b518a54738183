import { expect, test } from "vitest";
import type { Task } from "../../../adapters/inbox/sqlite/thread/transaction.ts";
import { mail, one } from "../../suites/inbox/deliveries.ts";
import { claimAll, claimOne, countsOf, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
import { openInline } from "./inline-thread.ts";
import { telling } from "./observed-thread.ts";
import { onDisk } from "./on-disk.ts";

const MIB = 1024 * 1024;
const COUNT = 40;
const names = Array.from({ length: COUNT }, (_, index) => `m-${index}`);

/** After a restart, which leaves no body in memory. */
async function withLargeBodies() {
  const tasks: Task[] = [];
  const made = await onDisk({ openThread: telling(openInline, (batch) => tasks.push(...batch.tasks)) });
  for (const name of names) await storeAll(made.inbox, mail([one(name, "same")], { filler: "x".repeat(MIB) }));
  await made.restart();
  tasks.length = 0;
  return { ...made, reads: () => tasks.filter(({ verb }) => verb === "claim").length };
}

test("bodies of a run that are too much for one commit are read in several, and the run is claimed whole", async () => {
  const { inbox, reads } = await withLargeBodies();
  const { claims } = await inbox.claim({ max: 10, mergeMax: 1_000 });
  expect(recordsOf(claims)).toEqual([names]);
  expect(claims[0]?.jobs.every(({ delivery }) => delivery.body.byteLength > MIB)).toBe(true);
  expect(reads()).toBe(3); // 16 MiB each
});

test("all of its jobs are marked as running: each counts the death of the process", async () => {
  const { inbox, restart } = await withLargeBodies();
  await claimOne(inbox, 1_000);
  await restart();
  expect(countsOf(await claimAll(inbox, { mergeMax: 1_000 }))).toEqual(names.map(() => [2, 1]));
});
