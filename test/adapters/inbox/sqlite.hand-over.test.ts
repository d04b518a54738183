import { StorageError } from "hookline";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { createCommitQueue } from "../../../adapters/inbox/sqlite/store/commit-queue.ts";
import { openThread, type ThreadClient } from "../../../adapters/inbox/sqlite/thread/thread-client.ts";
import type { SettleRecord } from "../../../adapters/inbox/sqlite/thread/records.ts";
import { createSqliteInbox, type SqliteOptions } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import type { Task, TaskResult } from "../../../adapters/inbox/sqlite/thread/transaction.ts";
import { createLanes } from "../../../adapters/inbox/sqlite/work/lanes.ts";
import { systemClock } from "../../../src/clock.ts";
import { toLogger } from "../../../src/logger.ts";
import { mail, one } from "../../suites/inbox/deliveries.ts";
import { deferred, until } from "../../support/event-loop.ts";
import { eventually } from "../../support/eventually.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { idOf } from "../../support/rig.ts";
import { claimedIds, claimOne, DONE, folderFor, onDisk } from "./on-disk.ts";
import { receiverOn } from "./receiver-on.ts";

const HOST = { name: "default", clock: systemClock, log: toLogger(false), dedupeWindowMs: 60_000 };

/** Real commit threads that stop before a batch with a certain task, and then do one batch after the other. */
function gatedThreads() {
  let [verb, gate] = ["", deferred()];
  let last: Promise<unknown> = Promise.resolve();
  const asked: string[] = [];

  async function open(...given: Parameters<typeof openThread>): Promise<ThreadClient> {
    const channel = await openThread(...given);
    return {
      ...channel,
      run(batch) {
        const verbs = batch.tasks.map((task) => task.verb as string);
        asked.push(...verbs);
        const held = verbs.includes(verb) ? gate.promise : undefined;
        const ran = Promise.all([last, held]).then(() => channel.run(batch));
        last = ran.catch(() => {});
        return ran;
      },
    };
  }

  return {
    open,
    /** @returns what waits for the task to be asked for, and what lets it go on */
    stopAt(given: string) {
      [verb, gate] = [given, deferred()];
      asked.length = 0;
      return { stands: () => until(() => asked.includes(given)), goOn: gate.resolve };
    },
    asks: (given: string) => until(() => asked.includes(given)),
  };
}

/** An inbox that works, on a clock that stands still, with what its worker heard. */
async function working(file: string, options: Partial<SqliteOptions> = {}) {
  const [inbox, clock, heard] = [createSqliteInbox({ file, ...options }), fakeClock(new Date()), [] as string[]];
  onTestFinished(() => inbox.close());
  await inbox.open({ ...HOST, clock });
  await inbox.work({
    begin: () => void heard.push("begin"),
    end: () => void heard.push("end"),
    wake() {},
    lost: () => void heard.push("lost"),
  });
  const hears = (...words: readonly string[]): Promise<void> => eventually(() => expect(heard).toEqual(words));
  return { inbox, clock, hears };
}

/** As if another process had taken over the work, and ended: a commit is told so. */
function raiseEpoch(file: string): () => void {
  const db = new DatabaseSync(file, { timeout: 5_000 });
  db.exec("UPDATE state SET epoch = epoch + 1");
  db.close();
  return () => {};
}

/** Somebody has removed the lock and another process has the new one. @returns ends that process */
function stealLock(file: string): () => void {
  rmSync(`${file}-lock`);
  const lock = new DatabaseSync(`${file}-lock`);
  lock.exec("BEGIN EXCLUSIVE");
  return () => lock.close();
}

test("what a commit made while the work was taken over again comes behind what waited in its lane before it", async () => {
  const [file, threads] = [join(folderFor(), "inbox.db"), gatedThreads()];
  const { inbox, clock, hears } = await working(file, { openThread: threads.open });
  await inbox.store([mail([one("first")])]);
  const { stands, goOn } = threads.stopAt("store");
  const stored = inbox.store([mail([one("second")])]);
  await stands();
  const giveBack = stealLock(file);
  await hears("begin", "end");
  giveBack();
  await clock.advance(1_000);
  await threads.asks("takeOver");
  goOn();
  expect(await stored).toMatchObject([{ expanded: true }]);
  await hears("begin", "end", "begin");
  for (const id of ["first", "second"]) {
    const claim = await claimOne(inbox);
    expect(String(claim?.jobs[0].delivery.body)).toContain(id);
    if (claim !== undefined) await inbox.settle([{ claim, outcomes: [DONE] }]);
  }
});

describe("the lane of a handler whose end was being told when its job was removed, and then the work taken,", () => {
  test.each([
    ["does not hold", raiseEpoch],
    ["holds", stealLock],
  ])("opens again, where what was told %s", async (_, take) => {
    const [file, threads] = [join(folderFor(), "inbox.db"), gatedThreads()];
    const { inbox, clock, hears } = await working(file, { openThread: threads.open });
    await inbox.store([mail([one("first")], { accountId: 7 })]);
    const claim = await claimOne(inbox);
    const removal = threads.stopAt("runRequest");
    const erased = inbox.jobs.erase(7).catch(() => {});
    await removal.stands();
    const settled = claim && inbox.settle([{ claim, outcomes: [DONE] }]);
    const settle = threads.stopAt("settle");
    removal.goOn();
    await settle.stands();
    await hears("begin", "lost");
    const giveBack = take(file);
    if (take === stealLock) await hears("begin", "lost", "end");
    giveBack();
    settle.goOn();
    expect(await settled).toEqual([false]);
    await hears("begin", "lost", "end");
    await clock.advance(1_000);
    await hears("begin", "lost", "end", "begin");
    await erased;
    await inbox.store([mail([one("later")], { accountId: 8 })]);
    expect(await claimedIds(inbox)).toEqual(["later"]);
  });
});

describe("after the file was replaced by another", () => {
  test("what waits there unhandled is handled where it can be now", async () => {
    const [file, other] = [join(folderFor(), "inbox.db"), join(folderFor(), "inbox.db")];
    const former = receiverOn(other);
    former.receiver.on("task", () => {});
    await former.receiver.start();
    expect(await former.send("unhandled")).toBe(200);
    await former.receiver.close();
    const { receiver, send } = receiverOn(file);
    const seen: string[] = [];
    receiver.on("email", (event) => void seen.push(idOf(event)));
    await receiver.start();
    expect(await send("before")).toBe(200);
    await eventually(() => expect(seen).toEqual(["before"]));
    renameSync(other, file);
    await eventually(() => expect(seen).toContain("unhandled"));
    expect(receiver.stats().role).toBe("working");
  });

  test("what a lane had inherited in the former one does not hold", async () => {
    const { inbox, file, clock, heard, isReady } = await onDisk();
    await inbox.store([mail(["a", "b", "c"].map((id) => one(id)))]);
    const first = await claimOne(inbox);
    const began = clock.now();
    await clock.advance(5_000_000);
    const error = { name: "Error", message: "no", at: clock.now() };
    if (first !== undefined) await inbox.settle([{ claim: first, outcomes: [{ to: "dead", error, ofWindow: true }] }]);
    const held = await claimOne(inbox);
    expect(held?.jobs[0].firstAttemptAt).toBe(began);
    rmSync(file);
    await eventually(() => expect(inbox.ready().ready).toBe(false));
    await clock.advance(1_000);
    await isReady();
    await inbox.store([mail([one("new")])]);
    expect(heard.lost).toEqual([held]);
    if (held !== undefined) await inbox.settle([{ claim: held, outcomes: [DONE] }]);
    expect((await claimOne(inbox))?.jobs[0].firstAttemptAt).toBe(clock.now());
  });
});

describe("a delivery in one commit with what another process has taken over", () => {
  const NOTHING: SettleRecord = { done: [], released: [], others: [], windows: [] };
  const NONE = { offset: 0, count: 0, at: 0 };
  const STALE: TaskResult = { error: { code: "epoch-stale", message: "", fix: undefined, errcode: undefined } };

  /** @param answers of one commit after the other, by the task */
  function commitsOn(epoch: number | undefined, ...answers: readonly ((task: Task) => TaskResult)[]) {
    const seen: string[][] = [];
    let current = epoch;
    const channel = {
      fileId: "",
      lastLook: () => ({ tombstones: 0, agoMs: 0 }),
      unref() {},
      close: async () => {},
      abandon() {},
      async run({ tasks }: { readonly tasks: readonly Task[] }) {
        const answer = answers[seen.length] ?? (() => ({ value: "again" }));
        seen.push(tasks.map(({ verb }) => verb));
        return tasks.map(answer);
      },
    };
    const commits = createCommitQueue({
      channel: () => channel,
      workerState: {
        get epoch() {
          return current;
        },
        lanes: createLanes(),
      },
      fenced: () => void (current = undefined),
      distrust() {},
    });
    return { commits, seen };
  }

  test("is not stored again where it held", async () => {
    const { commits, seen } = commitsOn(1, ({ verb }) => (verb === "settle" ? STALE : { value: "held" }));
    const settled = commits.add("settle", NOTHING).catch((error: unknown) => error);
    expect(await commits.add("store", NONE)).toBe("held");
    expect(await settled).toMatchObject({ code: "epoch-stale" });
    expect(seen).toEqual([["settle", "store"]]);
  });

  test("is stored with the next one where it did not, also by a process that only receives", async () => {
    const { commits, seen } = commitsOn(undefined, () => STALE);
    const carried = commits.add("runRequest", { at: 0, idleEpoch: undefined }).catch((error: unknown) => error);
    expect(await commits.add("store", NONE)).toBe("again");
    expect(await carried).toMatchObject({ code: "epoch-stale" });
    expect(seen).toEqual([["runRequest", "store"], ["store"]]);
  });
});

test.each([["its log"], ["its log and the index of that"]])(
  "nothing acknowledged is lost where somebody has the file open too and removes %s",
  async (what) => {
    const { inbox, file, clock } = await onDisk();
    const taken: string[] = [];
    async function offer(id: string): Promise<void> {
      const [stored] = await inbox.store([mail([id])]);
      if (!(stored instanceof StorageError)) taken.push(id);
    }
    await offer("before");
    const shell = new DatabaseSync(file);
    shell.prepare("SELECT count(*) FROM delivery").get();
    // The log is begun again, by the first page of the file among few.
    shell.exec(
      "INSERT INTO subscription (subscription, account, resource, error, sent_at, key) VALUES (1, 1, '', '', 1, '')",
    );
    shell.exec("PRAGMA wal_checkpoint");
    await inbox.subscriptions.forget(1, undefined);
    rmSync(`${file}-wal`);
    if (what !== "its log") rmSync(`${file}-shm`);
    await eventually(async () => {
      await clock.advance(500);
      await offer(`${taken.length} later`);
      expect(taken.length).toBeGreaterThan(2);
    });
    shell.close();
    await inbox.close();
    expectWhole(file, taken);
  },
);

/** Another program that has the file open, and reads on until it is told to end. */
const READER = `
  const db = new (require("node:sqlite").DatabaseSync)(process.argv[1]);
  db.exec("INSERT INTO subscription (subscription, account, resource, error, sent_at, key) VALUES (1, 1, '', '', 1, '')");
  db.exec("PRAGMA wal_checkpoint");
  db.exec("BEGIN");
  db.prepare("SELECT count(*) FROM delivery").get();
  process.stdout.write("reads\\n");
  process.stdin.once("data", () => { db.exec("COMMIT"); db.close(); process.exit(0); });
`;

test("nothing acknowledged is lost where another program reads on while the log is removed", async () => {
  const { inbox, file, clock } = await onDisk();
  const taken: string[] = [];
  async function offer(id: string): Promise<void> {
    const [stored] = await inbox.store([mail([id])]);
    if (!(stored instanceof StorageError)) taken.push(id);
  }
  await offer("before");
  const reader = spawn(process.execPath, ["-e", READER, file], { stdio: ["pipe", "pipe", "inherit"] });
  await once(reader.stdout, "data");
  await inbox.subscriptions.forget(1, undefined);
  rmSync(`${file}-wal`);
  await eventually(async () => {
    await clock.advance(500);
    await offer(`${taken.length} later`);
    expect(taken.length).toBeGreaterThan(2);
  });
  reader.stdin.write("end");
  await once(reader, "exit");
  await inbox.close();
  expectWhole(file, taken);
});

function expectWhole(file: string, taken: readonly string[]): void {
  const db = new DatabaseSync(file);
  onTestFinished(() => db.close());
  expect(db.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
  const rows = db.prepare("SELECT body FROM delivery ORDER BY id").all();
  expect(rows.map(({ body }) => JSON.parse(Buffer.from(body as Uint8Array).toString()).payloads[0].id)).toEqual(taken);
}
