import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { MessageChannel } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { createBatchMemory } from "../../../adapters/inbox/sqlite/store/delivery-record.ts";
import { STATE, type SettleRecord } from "../../../adapters/inbox/sqlite/thread/records.ts";
import type { FromThread, ToThread } from "../../../adapters/inbox/sqlite/thread/thread-protocol.ts";
import { openFile } from "../../../adapters/inbox/sqlite/connection/open-file.ts";
import { makeLookMemory } from "../../../adapters/inbox/sqlite/thread/last-look.ts";
import { createOperations } from "../../../adapters/inbox/sqlite/thread/operations.ts";
import { serveCommits } from "../../../adapters/inbox/sqlite/thread/serve-commits.ts";
import { createBatchRunner, toTaskError, type Task } from "../../../adapters/inbox/sqlite/thread/transaction.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { until } from "../../support/event-loop.ts";
import { fastTmpdir } from "../../support/fast-tmpdir.ts";

const OPTIONS = { name: "default", dedupeWindowMs: 60_000 };
const TAKE_OVER: Task = { verb: "takeOver", input: undefined };
const STONES: Task = { verb: "tombstones", input: undefined };
const BYTES: Uint8Array = new Uint8Array(0);
const NOTHING: SettleRecord = { done: [], released: [], others: [], windows: [] };
const NOBODYS = { account: null, subscription: null, extras: null };

function fileIn(): string {
  const folder = mkdtempSync(join(fastTmpdir(), "hookline-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "inbox.db");
}

function opened() {
  const db = openFile(fileIn(), OPTIONS.name);
  onTestFinished(() => db.close());
  const operations = createOperations(db, {
    dedupeWindowMs: OPTIONS.dedupeWindowMs,
  });
  const run = createBatchRunner(db, operations);
  return {
    run: (tasks: readonly Task[], epoch?: number, bytes = BYTES) => run({ epoch, tasks, bytes }),
    tombstones: () => operations.tombstones()[1].map(({ subscription }) => subscription),
  };
}

/** @param reason null does not fit the table */
function tombstoneFor(subscription: number, reason: string | null = "gone"): Task {
  return { verb: "putTombstone", input: { subscription, source: undefined, reason, since: 1, lastHit: 1 } };
}

/** What serves commits, and what it has said so far. */
function served(file: string, name = OPTIONS.name) {
  const { port1, port2 } = new MessageChannel();
  const heard: FromThread[] = [];
  port2.on("message", (message: FromThread) => heard.push(message));
  onTestFinished(() => port2.close());
  serveCommits(port1, { ...OPTIONS, file, name, lookMemory: makeLookMemory() });
  const count = (type: FromThread["type"]): number => heard.filter((message) => message.type === type).length;
  return {
    heard,
    say: (message: ToThread): void => port2.postMessage(message),
    hears: (type: FromThread["type"]): Promise<void> => until(() => count(type) > 0),
  };
}

test("one record that does not fit does not sink its batch", () => {
  const { run, tombstones } = opened();
  expect(run([tombstoneFor(1), tombstoneFor(2, null), tombstoneFor(3)])).toMatchObject([
    { value: undefined },
    { error: { errcode: 1299 } },
    { value: undefined },
  ]);
  expect(tombstones()).toEqual([1, 3]);
});

test("one that comes alone fails alone", () => {
  const { run, tombstones } = opened();
  expect(run([tombstoneFor(1, null)])).toMatchObject([{ error: { code: "ERR_SQLITE_ERROR" } }]);
  expect(tombstones()).toEqual([]);
});

test("a commit of an owner that was relieved changes nothing", () => {
  const { run, tombstones } = opened();
  expect([run([TAKE_OVER]), run([TAKE_OVER])]).toMatchObject([[{ value: { epoch: 1 } }], [{ value: { epoch: 2 } }]]);
  const stale = { error: { code: "epoch-stale" } };
  expect(run([tombstoneFor(1), tombstoneFor(2)], 1)).toMatchObject([stale, stale]);
  expect(tombstones()).toEqual([]);
  run([tombstoneFor(1), tombstoneFor(2)], 2);
  expect(tombstones()).toEqual([1, 2]);
});

test("a settle of an owner that was relieved ends no job", () => {
  const { run } = opened();
  const memory = createBatchMemory().begin();
  memory.add(mail([]), { lines: '[[0,"email.created","default"]]', states: STATE.waiting, ...NOBODYS });
  const input = { offset: 0, count: 1, at: 1 };
  run([TAKE_OVER, { verb: "store", input }], undefined, memory.bytes());
  const jobs = (): unknown => run([{ verb: "openJobs", input: { after: 0, limit: 10 } }]);
  const before = jobs();
  expect(before).toMatchObject([{ value: { last: 2 } }]);
  run([TAKE_OVER]);
  const progress = { attempts: 1, deaths: 0, firstAttemptAt: 1, runAt: 9, delayMs: 8, error: null, groupMax: null };
  const records: readonly SettleRecord[] = [
    { ...NOTHING, done: [2] },
    { ...NOTHING, others: [{ id: 2, to: "dead", attempts: 1, error: null, settledAt: 1 }] },
    { ...NOTHING, others: [{ id: 2, to: "waiting", ...progress }] },
  ];
  for (const settled of records) {
    expect(run([{ verb: "settle", input: settled }], 1)).toMatchObject([{ error: { code: "epoch-stale" } }]);
    expect(jobs()).toEqual(before);
  }
  run([{ verb: "settle", input: { ...NOTHING, done: [2] } }], 2);
  expect(jobs()).toMatchObject([{ value: { last: null } }]);
});

test("whatever is thrown crosses between threads as text", () => {
  const nothing = { fix: undefined, errcode: undefined };
  expect(toTaskError(new Error("no"))).toEqual({ code: "storage-failed", message: "no", ...nothing });
  expect(toTaskError(Object.assign(new Error("no"), { code: "x", fix: "y", errcode: 5 }))).toEqual({
    code: "x",
    message: "no",
    fix: "y",
    errcode: 5,
  });
});

test("batches that come in are committed, and their results go out in order", async () => {
  const { say, heard, hears } = served(fileIn());
  await hears("open");
  for (const tasks of [[tombstoneFor(1)], [tombstoneFor(2), STONES]])
    say({ type: "batch", batch: { epoch: undefined, tasks, bytes: BYTES } });
  say({ type: "close" });
  await hears("closed");
  expect(heard).toMatchObject([
    { type: "open", counts: { unexpanded: 0 } },
    { type: "results", results: [{ value: undefined }] },
    { type: "results", results: [{}, { value: [2, [{ subscription: 1 }, { subscription: 2 }]] }] },
    { type: "closed" },
  ]);
});

test("what another connection commits is told", async () => {
  const file = fileIn();
  const { say, heard, hears } = served(file);
  await hears("open");
  const other = new DatabaseSync(file);
  other.exec("UPDATE state SET dead = 7");
  other.close();
  await hears("changed");
  expect(heard.at(-1)).toMatchObject({ type: "changed", counts: { dead: 7 } });
  say({ type: "close" });
  await hears("closed");
});

test("a log does not stay beside the place of a file that was deleted in the moment of its close", async () => {
  const file = fileIn();
  const { say, hears } = served(file);
  say({ type: "batch", batch: { epoch: undefined, tasks: [tombstoneFor(1)], bytes: BYTES } });
  await hears("results");
  rmSync(file);
  say({ type: "close" });
  await hears("closed");
  expect(existsSync(`${file}-wal`)).toBe(false);
});

test("a file that cannot be opened is told with the reason", async () => {
  const file = fileIn();
  openFile(file, "another").close();
  const { heard, hears } = served(file);
  await hears("failed");
  const told = expect.stringContaining(`${file} belongs to the receiver "another"`);
  expect(heard).toMatchObject([{ type: "failed", error: { code: "name-differs", message: told } }]);
});
