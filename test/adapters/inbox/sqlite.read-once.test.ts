import { expect, test } from "vitest";
import { openThread } from "../../../adapters/inbox/sqlite/thread/thread-client.ts";
import type { Operations } from "../../../adapters/inbox/sqlite/thread/operations.ts";
import type { Task } from "../../../adapters/inbox/sqlite/thread/transaction.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { eventually } from "../../support/eventually.ts";
import { openInline } from "./inline-thread.ts";
import { telling } from "./observed-thread.ts";
import { beside, onDisk } from "./on-disk.ts";

const ENTRIES = 500;

test("after a restart the body of a delivery is read and parsed once for all of its jobs", async () => {
  const tasks: Task[] = [];
  const { inbox, restart } = await onDisk({
    openThread: telling(openInline, (batch) => tasks.push(...batch.tasks)),
  });
  await inbox.store([mail(Array.from({ length: ENTRIES }, (_, index) => `m-${index}`))]);
  await restart();
  const bodies = new Set<unknown>();
  for (let claimed = 0; claimed < ENTRIES; claimed += 50) {
    const { claims } = await inbox.claim({ max: 50, mergeMax: 1 });
    expect(claims).toHaveLength(50);
    for (const { jobs } of claims) bodies.add(jobs[0].delivery);
  }
  const read = tasks
    .filter(({ verb }) => verb === "claim")
    .flatMap(({ input }) => (input as Parameters<Operations["claim"]>[0]).deliveries.flat());
  expect(bodies.size).toBe(1);
  expect(read).toHaveLength(1);
});

test("tombstones are read again when another process has changed them, and for no other of its commits", async () => {
  const verbs: Task["verb"][] = [];
  const { inbox, file, host } = await onDisk({
    openThread: telling(openThread, ({ tasks }) => verbs.push(...tasks.map(({ verb }) => verb))),
  });
  const reads = (): number => verbs.filter((verb) => verb === "tombstones").length;
  const other = await beside(file, host, { openThread: openInline });
  const before = reads();
  for (let stored = 1; stored <= 5; stored += 1) {
    await other.store([mail(["a"])]);
    await eventually(() => expect(inbox.stats().unexpanded).toBe(stored));
  }
  expect(reads()).toBe(before);
  await other.tombstones.put({ subscription: 7, source: undefined, reason: "gone" });
  await eventually(() => expect(inbox.tombstones.find(7, undefined)).toMatchObject({ reason: "gone" }));
  expect(reads()).toBe(before + 1);
  await other.tombstones.lift(7, undefined);
  await eventually(() => expect(inbox.tombstones.isEmpty).toBe(true));
  expect(reads()).toBe(before + 2);
});
