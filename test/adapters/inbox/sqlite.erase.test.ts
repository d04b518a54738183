import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { createOperations } from "../../../adapters/inbox/sqlite/thread/operations.ts";
import { NOTHING_ERASED, type ErasedRows } from "../../../src/adapter.ts";
import { mail, nobodys, notice, ofBody, raw, UNHANDLED } from "../../suites/inbox/deliveries.ts";
import { claimAll, dead, findAll, over, settleAll, storeAll } from "../../suites/inbox/verbs.ts";
import { watch } from "../../support/event-loop.ts";
import { eventually } from "../../support/eventually.ts";
import { openInline } from "./inline-thread.ts";
import { telling } from "./observed-thread.ts";
import { onDisk } from "./on-disk.ts";

const MARKER = "a secret of somebody";

function filesWith(text: string, folder: string): string[] {
  return readdirSync(folder).filter((name) => readFileSync(join(folder, name)).includes(text));
}

test("of what is erased no byte is left in any file of the inbox", async () => {
  const opened = await onDisk();
  const { inbox, file } = opened;
  const folder = dirname(file);
  const theirs = { accountId: 7, filler: MARKER.repeat(50) };
  for (let delivery = 0; delivery < 60; delivery += 1)
    await storeAll(inbox, mail([{ id: "x", lane: MARKER }, nobodys("y")], theirs), mail(["z"]));
  await storeAll(inbox, mail([{ id: "dead", lane: `${MARKER} 2` }], theirs));
  const claims = await claimAll(inbox);
  for (const claim of claims.slice(-1)) await settleAll(inbox, claim, dead(opened, MARKER));
  for (const claim of claims.slice(0, 1)) await settleAll(inbox, claim, over(opened)); // others of its lane wait
  await storeAll(inbox, raw(mail(["u"], theirs)));
  expect(filesWith(MARKER, folder)).toContain("inbox.db-wal");
  expect((await inbox.jobs.erase(7)).count).toBe(122);
  expect(filesWith(MARKER, folder)).toEqual([]);
  expect(await findAll(inbox, { accountId: 7 })).toEqual([]);
  expect((await findAll(inbox)).length).toBe(60);
});

test("an account that is in nine places is in none afterwards, and the report says what was there", async () => {
  const opened = await onDisk();
  const { inbox, file } = opened;
  const theirs = { accountId: 7, subscription: 1 };
  await storeAll(
    inbox,
    mail([{ id: "done" }], { ...theirs, filler: `${MARKER} 1` }),
    mail([{ id: "lane", lane: `${MARKER} 2`, mergeKey: `${MARKER} 3` }], theirs),
    notice(`${MARKER} 5`, theirs),
    mail(["other"]),
    raw(mail(["unexpanded"], { ...theirs, filler: `${MARKER} 4` })),
  );
  const [done, other] = await claimAll(inbox);
  if (done === undefined || other === undefined) throw new Error("Expected two claims.");
  await settleAll(inbox, done, { to: "done" });
  await settleAll(inbox, other, dead(opened, `${MARKER} 6`));
  const resource = {
    ...theirs,
    source: undefined,
    resource: `/calendars/${MARKER} 7/events`,
    family: "calendarEvent",
  } as const;
  await inbox.gaps?.add([{ ...resource, cause: "errored", from: 1, until: 2 }]);
  await inbox.keyValues?.set("token", `${MARKER} 8`, 7);
  await inbox.tombstones.put({ subscription: 1, source: "shop", reason: `${MARKER} 9` });
  expect(filesWith(MARKER, dirname(file))).not.toEqual([]);
  expect(await inbox.jobs.erase(7)).toEqual({
    count: expect.any(Number),
    deliveries: 4,
    tombstones: 1,
    pauses: 0,
    notices: 1,
    resources: 1,
    tokens: 1,
  });
  expect(filesWith(MARKER, dirname(file))).toEqual([]);
  expect(await findAll(inbox)).toHaveLength(1);
});

test("the report of an erasure in many commits, of which another process carries out the rest, is of all of them", async () => {
  const opened = await onDisk();
  const { inbox, file, host } = opened;
  for (let count = 0; count < 450; count += 50)
    await storeAll(inbox, ...Array.from({ length: 50 }, (_, index) => mail([`${count + index}`], { accountId: 7 })));
  await storeAll(inbox, notice("revoked", { accountId: 7 }));
  await inbox.close();
  const db = new DatabaseSync(file);
  onTestFinished(() => db.close());
  const operations = createOperations(db, { dedupeWindowMs: 1 });
  db.exec("BEGIN IMMEDIATE");
  operations.begin(undefined);
  // Begun by a process of an earlier release, which did not count them.
  const { pauses: _, ...erased } = NOTHING_ERASED;
  operations.addRequest({ verb: "erase", selection: { accountId: 7, erased: erased as ErasedRows }, at: 1 });
  operations.runRequest({ at: 1, idleEpoch: undefined });
  operations.end();
  db.exec("COMMIT");
  const next = createSqliteInbox({ file });
  onTestFinished(() => next.close());
  await next.open(host);
  await next.work({ begin() {}, end() {}, wake() {}, lost() {} });
  await eventually(() =>
    expect(
      JSON.parse(String(db.prepare("SELECT selection FROM request WHERE answered_at > 0").get()?.["selection"])),
    ).toEqual({
      count: 451,
      deliveries: 451,
      tombstones: 0,
      pauses: 0,
      notices: 1,
      resources: 0,
      tokens: 0,
    }),
  );
});

test("while somebody reads the old log an erase is not answered, and others are", async () => {
  const { inbox, file, clock } = await onDisk();
  await storeAll(inbox, mail(["a"], { accountId: 7, filler: MARKER }), mail(["b"]));
  const reader = new DatabaseSync(file);
  reader.exec("BEGIN");
  reader.prepare("SELECT count(*) FROM job").get();
  const erasing = watch(inbox.jobs.erase(7));
  await eventually(async () => expect(await findAll(inbox, { accountId: 7 })).toEqual([]));
  expect(await inbox.jobs.drop({ states: ["waiting"] })).toBe(1);
  expect(erasing.ended).toBe(false);
  reader.close();
  await eventually(async () => {
    await clock.advance(250);
    expect(erasing).toMatchObject({ ended: true, value: { count: 1 } });
  });
  expect(filesWith(MARKER, dirname(file))).toEqual([]);
});

test("what a commit that failed was to erase is overwritten behind the one that holds", async () => {
  let failing: (() => void) | undefined;
  const { inbox, file, clock } = await onDisk({
    openThread: (options, events) =>
      openInline(options, events, { opened: (db) => void (failing = failNextCommit(db)) }),
  });
  await storeAll(inbox, mail([nobodys("a")], { accountId: 7, filler: MARKER }));
  failing?.();
  const erasing = watch(inbox.jobs.erase(7));
  await eventually(async () => {
    await clock.advance(250);
    expect(erasing).toMatchObject({ ended: true, value: { count: 1 } });
  });
  expect(filesWith(MARKER, dirname(file))).toEqual([]);
});

test.each([
  ["long bodies", 1, 1_500_000],
  ["many jobs", 2_000, 1],
])("an account whose deliveries have %s is erased in several commits, and others stay", async (_what, jobs, bytes) => {
  let pages = 0;
  const { inbox } = await onDisk({
    openThread: telling(openInline, ({ tasks }) => {
      pages += tasks.filter(({ verb }) => verb === "runRequest").length;
    }),
  });
  const entries = Array.from({ length: jobs }, (_, index) => ({ id: `m-${index}`, ...UNHANDLED }));
  const filler = "x".repeat(bytes);
  for (let count = 0; count < 6; count += 1) await inbox.store([mail(entries, { accountId: 7, filler })]);
  await inbox.store([raw(mail(["waits"], { accountId: 7, filler })), mail([nobodys("other")], { accountId: 8 })]);
  expect((await inbox.jobs.erase(7)).count).toBe(6 * jobs + 1);
  expect(pages).toBeGreaterThanOrEqual(4);
  expect(inbox.stats()).toMatchObject({ unexpanded: 1, unhandled: 0 });
});

test("what an older version expanded without noting the account that its body names is erased, too", async () => {
  const { inbox, file } = await onDisk();
  const [theirs, others] = [ofBody('{"accountId":7}'), ofBody('{"accountId":8}')];
  await storeAll(inbox, theirs, others);
  const late = await storeAll(inbox, raw(theirs), raw(others));
  for (const [place, { events }] of [theirs, others].entries())
    await inbox.expand([{ id: late[place]?.id ?? "", events, cursor: undefined }]);
  const db = new DatabaseSync(file);
  for (const table of ["delivery", "job_list", "unhandled"]) db.exec(`UPDATE ${table} SET account = NULL`);
  expect((await inbox.jobs.erase(7)).count).toBe(2);
  expect(db.prepare("SELECT count(*) AS count FROM delivery").get()).toEqual({ count: 2 });
  db.close();
  expect(await findAll(inbox)).toHaveLength(2);
});

/** @returns makes the next commit of an erasure's last page fail */
function failNextCommit(db: DatabaseSync): () => void {
  let fails = false;
  db.function("hookline_fails", () => {
    if (!fails) return 0;
    fails = false;
    throw new Error("this commit does not hold");
  });
  db.exec(`CREATE TEMP TRIGGER fails AFTER UPDATE ON main.state WHEN EXISTS (SELECT 1 FROM main.request WHERE cursor IS NULL)
    BEGIN SELECT hookline_fails(); END`);
  return () => void (fails = true);
}
