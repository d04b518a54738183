import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { Claim, WorkingInbox } from "../../../src/adapter.ts";
import type { Operations } from "../../../adapters/inbox/sqlite/thread/operations.ts";
import type { Task } from "../../../adapters/inbox/sqlite/thread/transaction.ts";
import { mail, one } from "../../suites/inbox/deliveries.ts";
import { claimAll, claimOne, countsOf, done, recordsOf, settleAll, storeAll } from "../../suites/inbox/verbs.ts";
import { openInline } from "./inline-thread.ts";
import { telling } from "./observed-thread.ts";
import { onDisk } from "./on-disk.ts";

const MIB = 1024 * 1024;
const COUNT = 40;
const names = Array.from({ length: COUNT }, (_, index) => `m-${index}`);

const MERGED = { mergeMax: 1_000 };

/** What was claimed one after the other, until nothing is left. */
async function drain(inbox: WorkingInbox): Promise<Claim[]> {
  const all: Claim[] = [];
  for (let claims = await claimAll(inbox, MERGED); claims.length > 0; claims = await claimAll(inbox, MERGED)) {
    all.push(...claims);
    for (const claim of claims) await settleAll(inbox, claim, ...claim.jobs.map(() => done));
  }
  return all;
}

/** After a restart, which leaves no body in memory. */
async function withLargeBodies(toEntry = (name: string) => one(name, "same")) {
  const tasks: Task[] = [];
  const made = await onDisk({ openThread: telling(openInline, (batch) => tasks.push(...batch.tasks)) });
  const ids: string[] = [];
  for (const name of names) {
    const [stored] = await storeAll(made.inbox, mail([toEntry(name)], { filler: "x".repeat(MIB) }));
    ids.push(String(stored?.id));
  }
  await made.restart();
  tasks.length = 0;
  /** The jobs that each read of bodies is to mark. */
  const claimsOf = (): (readonly number[])[] =>
    tasks.flatMap(({ verb, input }) => (verb === "claim" ? [(input as Parameters<Operations["claim"]>[0]).ids] : []));
  return { ...made, ids, claimsOf };
}

test("a run has as many large bodies as one commit reads: the others wait for the next claim", async () => {
  const { inbox, claimsOf } = await withLargeBodies();
  const claims = await drain(inbox);
  expect(claims.map(({ jobs }) => jobs.length)).toEqual([16, 16, 8]);
  expect(recordsOf(claims).flat()).toEqual(names);
  expect(claims.flatMap(({ jobs }) => jobs).every(({ delivery }) => delivery.body.byteLength > MIB)).toBe(true);
  expect(claimsOf()).toHaveLength(3);
});

test("runs that one commit does not read are read by the next ones: each lane has its turn in the same claim", async () => {
  const { inbox, claimsOf } = await withLargeBodies((name) => ({ id: name }));
  expect(recordsOf(await claimAll(inbox, MERGED))).toEqual(names.map((name) => [name]));
  expect(claimsOf()).toHaveLength(3);
});

test("a job among them whose delivery is gone is removed, and never marked as running", async () => {
  const { inbox, file, claimsOf, ids } = await withLargeBodies();
  const db = new DatabaseSync(file);
  db.exec(`DELETE FROM delivery WHERE id = ${ids[3]}`);
  db.close();
  const left = names.filter((name) => name !== "m-3");
  const [run = []] = recordsOf(await claimAll(inbox, MERGED));
  expect(run).toEqual(left.slice(0, run.length));
  expect(run.length).toBeGreaterThan(15);
  const gone = Number(ids[3]) + 1;
  // In the first read its delivery is found to be gone; then the others are claimed.
  expect(claimsOf().map((asked) => asked.includes(gone))).toEqual([true, false]);
});

test("the jobs that run are marked, and no others: each counts the death of the process", async () => {
  const { inbox, restart } = await withLargeBodies();
  await claimOne(inbox, 1_000);
  await restart();
  const counts = countsOf(await drain(inbox));
  expect(counts.slice(0, 16)).toEqual(names.slice(0, 16).map(() => [2, 1]));
  expect(counts.slice(16)).toEqual(names.slice(16).map(() => [1, 0]));
});
