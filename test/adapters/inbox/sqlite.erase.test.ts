import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { mail, nobodys, ofBody, raw, UNHANDLED } from "../../suites/inbox/deliveries.ts";
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
  expect(await inbox.jobs.erase(7)).toBe(122);
  expect(filesWith(MARKER, folder)).toEqual([]);
  expect(await findAll(inbox, { accountId: 7 })).toEqual([]);
  expect((await findAll(inbox)).length).toBe(60);
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
    expect(erasing).toMatchObject({ ended: true, value: 1 });
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
    expect(erasing).toMatchObject({ ended: true, value: 1 });
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
  expect(await inbox.jobs.erase(7)).toBe(6 * jobs + 1);
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
  expect(await inbox.jobs.erase(7)).toBe(2);
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
