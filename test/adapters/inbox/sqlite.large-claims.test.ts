import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { Operations } from "../../../adapters/inbox/sqlite/thread/operations.ts";
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
  const ids: string[] = [];
  for (const name of names) {
    const [stored] = await storeAll(made.inbox, mail([one(name, "same")], { filler: "x".repeat(MIB) }));
    ids.push(String(stored?.id));
  }
  await made.restart();
  tasks.length = 0;
  /** The jobs that each read of bodies is to mark. */
  const claimsOf = (): (readonly number[])[] =>
    tasks.flatMap(({ verb, input }) => (verb === "claim" ? [(input as Parameters<Operations["claim"]>[0]).ids] : []));
  return { ...made, ids, claimsOf };
}

test("bodies of a run that are too much for one commit are read in several, and the run is claimed whole", async () => {
  const { inbox, claimsOf } = await withLargeBodies();
  const { claims } = await inbox.claim({ max: 10, mergeMax: 1_000 });
  expect(recordsOf(claims)).toEqual([names]);
  expect(claims[0]?.jobs.every(({ delivery }) => delivery.body.byteLength > MIB)).toBe(true);
  expect(claimsOf()).toHaveLength(3); // 16 MiB each
});

test("a job among them whose delivery is gone is removed, and never marked as running", async () => {
  const { inbox, file, claimsOf, ids } = await withLargeBodies();
  const db = new DatabaseSync(file);
  db.exec(`DELETE FROM delivery WHERE id = ${ids[3]}`);
  db.close();
  expect(recordsOf(await claimAll(inbox, { mergeMax: 1_000 }))).toEqual([names.filter((name) => name !== "m-3")]);
  const gone = Number(ids[3]) + 1;
  // In the first read its delivery is found to be gone; then the others are claimed.
  expect(claimsOf().map((asked) => asked.includes(gone))).toEqual([true, false, false, false, false, false]);
});

test("all of its jobs are marked as running: each counts the death of the process", async () => {
  const { inbox, restart } = await withLargeBodies();
  await claimOne(inbox, 1_000);
  await restart();
  expect(countsOf(await claimAll(inbox, { mergeMax: 1_000 }))).toEqual(names.map(() => [2, 1]));
});
