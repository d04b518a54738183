import { DatabaseSync } from "node:sqlite";
import { decodeMark } from "../../../adapters/inbox/sqlite/thread/running-mark.ts";
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

async function onDiskWatched() {
  const tasks: Task[] = [];
  const made = await onDisk({ openThread: telling(openInline, (batch) => tasks.push(...batch.tasks)) });
  /** The jobs that each read of bodies is to mark. */
  const claimsOf = (): (readonly number[])[] =>
    tasks.flatMap(({ verb, input }) => (verb === "claim" ? [(input as Parameters<Operations["claim"]>[0]).ids] : []));
  return { ...made, claimsOf };
}

/** @param isHeld else after a restart, which leaves no body in memory */
async function withLargeBodies(toEntry = (name: string) => one(name, "same"), isHeld = false) {
  const made = await onDiskWatched();
  const ids: string[] = [];
  for (const name of names) {
    const [stored] = await storeAll(made.inbox, mail([toEntry(name)], { filler: "x".repeat(MIB) }));
    ids.push(String(stored?.id));
  }
  if (!isHeld) await made.restart();
  return { ...made, ids };
}

test("a run has 4 MiB of bodies: further jobs are in the next one", async () => {
  const { inbox } = await withLargeBodies();
  const claims = await drain(inbox);
  expect(claims.map(({ jobs }) => jobs.length)).toEqual(Array.from({ length: 10 }, () => 4));
  expect(recordsOf(claims).flat()).toEqual(names);
  expect(claims.flatMap(({ jobs }) => jobs).every(({ delivery }) => delivery.body.byteLength > MIB)).toBe(true);
});

test("bodies of several runs that are too much for one commit are read in several, and each lane has its turn", async () => {
  const { inbox, claimsOf } = await withLargeBodies((name) => ({ id: name }));
  expect(recordsOf(await claimAll(inbox, MERGED))).toEqual(names.map((name) => [name]));
  expect(claimsOf()).toHaveLength(4); // 16 MiB each, and one that marks
});

test("a run of large bodies does not shorten another one", async () => {
  const small = Array.from({ length: 300 }, (_, index) => `s-${index}`);
  const { inbox, restart, claimsOf } = await onDiskWatched();
  for (const name of names.slice(0, 5)) await storeAll(inbox, mail([one(name, "same")], { filler: "x".repeat(MIB) }));
  for (const name of small) await storeAll(inbox, mail([{ id: name, lane: "small", mergeKey: "small" }]));
  await restart();
  expect(recordsOf(await claimAll(inbox, MERGED))).toEqual([names.slice(0, 4), small]);
  expect(claimsOf()).toHaveLength(2); // the large run is not whole: its jobs are marked by the second one
});

test("a job among them whose delivery is gone is removed, and never marked as running", async () => {
  const { inbox, file, claimsOf, ids } = await withLargeBodies();
  const db = new DatabaseSync(file);
  db.exec(`DELETE FROM delivery WHERE id = ${ids[3]}`);
  db.close();
  const gone = Number(ids[3]) + 1;
  const [run = []] = recordsOf(await claimAll(inbox, MERGED));
  expect(run).toEqual(names.filter((name) => name !== "m-3").slice(0, run.length));
  // The read finds that its delivery is gone; the others of the run are marked.
  expect(claimsOf()[0]).toContain(gone);
  const marks = new DatabaseSync(file, { readOnly: true });
  const marked = [...decodeMark(marks.prepare("SELECT mark FROM state").get()?.["mark"] as Uint8Array).entries()];
  marks.close();
  expect(marked.map(({ id }) => id)).not.toContain(gone);
  expect(marked).toHaveLength(run.length);
});

test.each([true, false])("the jobs that run are marked, and no others, with bodies in memory: %s", async (isHeld) => {
  const { inbox, restart } = await withLargeBodies(undefined, isHeld);
  await claimOne(inbox, 1_000);
  await restart();
  const counts = countsOf(await drain(inbox));
  expect(counts.slice(0, 4)).toEqual(names.slice(0, 4).map(() => [2, 1]));
  expect(counts.slice(4)).toEqual(names.slice(4).map(() => [1, 0]));
});
