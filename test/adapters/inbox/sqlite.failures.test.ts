import { StorageError, type Claim, type WorkingInbox } from "hookline/adapter";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Worker as Thread } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { mail, one } from "../../suites/inbox/deliveries.ts";
import { openBench } from "../../suites/inbox/fixture.ts";
import { eventually } from "../../support/eventually.ts";
import { faultyChannels } from "./faulty-thread.ts";

const MANY = { max: 10, mergeMax: 1 };
const DONE = { to: "done" } as const;
const FULL = { errcode: 13 };
const IO_ERROR_IN_FSYNC = { errcode: 1034 };

async function bench() {
  const folder = mkdtempSync(join(tmpdir(), "hookline-"));
  const channels = faultyChannels();
  const file = join(folder, "inbox.db");
  const opened = await openBench({
    make: () => createSqliteInbox({ file, openThread: channels.open }),
    cleanup: () => rmSync(folder, { recursive: true }),
  });
  onTestFinished(() => opened.end());
  const { inbox, clock } = opened;
  return { channels, inbox, clock, file, isReady: () => eventually(() => expect(inbox.ready().ready).toBe(true)) };
}

async function claimOne(inbox: WorkingInbox): Promise<Claim> {
  const { claims } = await inbox.claim({ max: 1, mergeMax: 1 });
  return claims[0] as Claim;
}

async function claimedIds(inbox: WorkingInbox): Promise<string[]> {
  const { claims } = await inbox.claim(MANY);
  return claims.map(({ jobs: [{ delivery }] }) => String(JSON.parse(delivery.body.toString()).payloads[0].id));
}

test("a commit thread that is killed is replaced, and what was stored is handled", async () => {
  const threads: Thread[] = [];
  const note = (thread: Thread): unknown => threads.push(thread);
  process.on("worker", note);
  onTestFinished(() => void process.off("worker", note));
  const { inbox, isReady, channels } = await bench();
  await inbox.store([mail(["a"])]);
  const killed = threads.at(-1)?.terminate();
  const [stored] = await inbox.store([mail(["b"])]);
  await killed;
  expect(stored).toBeInstanceOf(StorageError);
  await isReady();
  expect(channels.opened).toBe(2);
  await inbox.store([mail(["c"])]);
  expect(await claimedIds(inbox)).toEqual(["a", "c"]);
});

test("what was stored by a thread that died right after its commit is handled once, in its order", async () => {
  const { inbox, isReady, channels } = await bench();
  await inbox.store([mail([one("a")])]);
  channels.next("dies after");
  expect(await inbox.store([mail([one("b")])])).toEqual([expect.any(StorageError)]);
  expect(inbox.ready().ready).toBe(false);
  await isReady();
  await inbox.store([mail([one("c")])]);
  for (const id of ["a", "b", "c"]) {
    const claim = await claimOne(inbox);
    expect(JSON.parse(claim.jobs[0].delivery.body.toString())).toMatchObject({ payloads: [{ id }] });
    expect(await inbox.settle([{ claim, outcomes: [DONE] }])).toEqual([true]);
  }
  expect(await claimedIds(inbox)).toEqual([]);
  expect(inbox.stats()).toMatchObject({ waiting: 0, running: 0 });
});

test.each(["dies before", "dies after"] as const)(
  "a settle whose commit thread %s can be told again, and its lane is closed until then",
  async (fault) => {
    const { inbox, isReady, channels } = await bench();
    await inbox.store([mail([one("a")]), mail([one("b")])]);
    const claim = await claimOne(inbox);
    channels.next(fault);
    await expect(inbox.settle([{ claim, outcomes: [DONE] }])).rejects.toThrow(StorageError);
    await isReady();
    expect(await claimedIds(inbox)).toEqual([]);
    expect(await inbox.settle([{ claim, outcomes: [DONE] }])).toEqual([true]);
    expect(await claimedIds(inbox)).toEqual(["b"]);
  },
);

test.each(["dies before", "dies after"] as const)(
  "a claim whose commit thread %s counts no attempt and no death",
  async (fault) => {
    const { inbox, isReady, channels } = await bench();
    await inbox.store([mail(["a"])]);
    channels.next(fault);
    await expect(inbox.claim(MANY)).rejects.toThrow(StorageError);
    await isReady();
    const { jobs } = await claimOne(inbox);
    expect(jobs).toMatchObject([{ attempt: 1, deaths: 0 }]);
    expect(await inbox.jobs.find({ limit: 10 })).toMatchObject({ jobs: [{ state: "running" }] });
  },
);

test("what runs while the commit thread is replaced runs on, and its death would still be counted", async () => {
  const { inbox, isReady, channels } = await bench();
  await inbox.store([mail(["a"])]);
  const claim = await claimOne(inbox);
  channels.next("dies before");
  await inbox.store([mail(["b"])]);
  await isReady();
  const { jobs } = await inbox.jobs.find({ limit: 10 });
  expect(jobs).toMatchObject([{ state: "running", attempts: 1 }]);
  expect(await inbox.settle([{ claim, outcomes: [DONE] }])).toEqual([true]);
});

test("jobs that were dropped by a commit of unknown outcome are not handled", async () => {
  const { inbox, isReady, channels } = await bench();
  await inbox.store([mail(["a"]), mail(["b"])]);
  const { jobs } = await inbox.jobs.find({ limit: 1 });
  channels.next("dies after");
  await expect(inbox.jobs.drop({ ids: jobs.map(({ id }) => id) })).rejects.toThrow(StorageError);
  await isReady();
  await eventually(() => expect(inbox.stats().waiting).toBe(1));
  expect(await claimedIds(inbox)).toEqual(["b"]);
});

test("a full disk changes nothing in memory: 503, lanes closed until a settle holds", async () => {
  const { inbox, channels } = await bench();
  await inbox.store([mail([one("a")]), mail([one("b")])]);
  const before = inbox.stats();
  channels.next(FULL);
  expect(await inbox.store([mail(["c"])])).toMatchObject([{ code: "disk-full" }]);
  channels.next(FULL);
  await expect(inbox.claim(MANY)).rejects.toThrow(StorageError);
  expect(inbox.stats()).toEqual(before);
  const claim = await claimOne(inbox);
  expect(claim.jobs).toMatchObject([{ attempt: 1 }]);
  channels.next(FULL);
  await expect(inbox.settle([{ claim, outcomes: [DONE] }])).rejects.toMatchObject({ code: "disk-full" });
  // The second look sees what the commit of the first one marked.
  for (const state of ["running", "running"])
    expect(await inbox.jobs.find({ limit: 1 })).toMatchObject({ jobs: [{ state }] });
  expect(await claimedIds(inbox)).toEqual([]);
  expect(await inbox.settle([{ claim, outcomes: [DONE] }])).toEqual([true]);
  expect(await claimedIds(inbox)).toEqual(["b"]);
  expect(channels.opened).toBe(1);
});

test.each([
  { when: "of a commit", oneByOne: false },
  { when: "while deliveries of a commit that failed were stored one by one", oneByOne: true },
])("after a failed fsync $when the file is opened anew before anything else is stored", async ({ oneByOne }) => {
  const { inbox, clock, isReady, channels } = await bench();
  channels.next({ ...IO_ERROR_IN_FSYNC, oneByOne });
  const failed = expect.any(StorageError);
  expect(await inbox.store([mail(["a"]), mail(["also a"])])).toEqual([failed, failed]);
  expect(await inbox.store([mail(["b"])])).toEqual([expect.any(StorageError)]);
  await clock.advance(1_000);
  await isReady();
  expect(channels.opened).toBe(2);
  expect(await inbox.store([mail(["c"])])).toMatchObject([{ expanded: true }]);
  expect(await claimedIds(inbox)).toEqual(["c"]);
});
