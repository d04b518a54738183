import { StorageError, type Claim, type WorkingInbox } from "hookline/adapter";
import { existsSync, linkSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { openInPlace } from "../../../adapters/inbox/sqlite/connection/replaced-file-check.ts";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { openFile } from "../../../adapters/inbox/sqlite/connection/open-file.ts";
import { mail, one, raw } from "../../suites/inbox/deliveries.ts";
import { eventually } from "../../support/eventually.ts";
import { faultyChannels } from "./faulty-thread.ts";
import { openInline } from "./inline-thread.ts";
import { beside, claimedIds, claimOne, DONE, folderFor, onDisk } from "./on-disk.ts";

/** What is done to an inbox in use. @returns where it is then; undefined where it is gone */
type Deed = (file: string) => string | undefined;

const ENDINGS = ["", "-wal", "-shm"];

const DEEDS: Readonly<Record<string, Deed>> = {
  "is deleted"(file) {
    rmSync(file);
    return undefined;
  },
  "is deleted with all that is beside it"(file) {
    for (const ending of ENDINGS) rmSync(`${file}${ending}`);
    return undefined;
  },
  "loses its log"(file) {
    rmSync(`${file}-wal`);
    return file;
  },
  "loses the index of its log"(file) {
    rmSync(`${file}-shm`);
    return file;
  },
  "is renamed"(file) {
    renameSync(file, `${file}.old`);
    return `${file}.old`;
  },
  "is moved away with all that is beside it"(file) {
    const folder = join(dirname(file), "old");
    mkdirSync(folder);
    for (const ending of ENDINGS) renameSync(`${file}${ending}`, join(folder, `${basename(file)}${ending}`));
    return join(folder, basename(file));
  },
  "is replaced by another"(file) {
    renameSync(filledFile("another"), file);
    return undefined;
  },
};

describe.each(Object.entries(DEEDS))("when the file of an inbox %s", (_what, deed) => {
  test("that is seen by whoever has it open, who leaves it whole, and nothing that spoils what comes to its place", () => {
    const file = filledFile("before");
    const opened = openInPlace(file, "default");
    const { db } = opened;
    insert(db, "in the log");
    expect(opened.isInPlace()).toBe(true);
    const moved = deed(file);
    expect(opened.isInPlace()).toBe(false);
    opened.leave();
    expect(db.isOpen).toBe(false);
    if (moved !== undefined) expect(keptIn(moved)).toEqual(["before", "in the log"]);
    openFile(file, "default").close();
    const rest = deed === DEEDS["is replaced by another"] ? ["another"] : [];
    expect(keptIn(file)).toEqual(moved === file ? ["before", "in the log"] : rest);
  });
});

test.each(["loses its log", "is replaced by another"])(
  "when the file of an inbox %s, who leaves it spoils nothing for those who still have it open",
  (what) => {
    const file = filledFile("before");
    const [opened, other] = [openInPlace(file, "default"), openInPlace(file, "default")];
    insert(opened.db, "in the log");
    const rows = other.db.prepare("SELECT id FROM delivery").iterate();
    rows.next(); // it reads on
    const moved = DEEDS[what]?.(file);
    opened.leave();
    // They have what they had open; whoever comes next begins an index of its own.
    expect(existsSync(`${file}-shm`)).toBe(false);
    if (moved !== file) openFile(file, "default").close();
    rows.return?.();
    insert(other.db, "later");
    expect(other.isInPlace()).toBe(false);
    other.leave();
    expect(keptIn(file)).toEqual(moved === file ? ["before", "in the log", "later"] : ["another"]);
  },
);

test("a log that others have made in the place of a lost one is left to them", () => {
  const file = filledFile("before");
  const opened = openInPlace(file, "default");
  insert(opened.db, "in the log");
  opened.db.exec("PRAGMA wal_checkpoint");
  rmSync(`${file}-wal`);
  const other = openFile(file, "default");
  insert(other, "in their log");
  opened.leave();
  insert(other, "later");
  other.close();
  expect(keptIn(file)).toEqual(["before", "in the log", "in their log", "later"]);
});

test("the log that came with another file stays beside that", () => {
  const [file, another] = [filledFile("before"), filledFile("another")];
  const opened = openInPlace(file, "default");
  insert(opened.db, "in the log");
  const other = openFile(another, "default");
  insert(other, "in its log");
  for (const ending of ENDINGS) renameSync(`${another}${ending}`, `${file}${ending}`);
  opened.leave();
  other.close();
  openFile(file, "default").close();
  expect(keptIn(file)).toEqual(["another", "in its log"]);
});

describe.each(["is deleted", "loses its log", "loses the index of its log", "is replaced by another"])(
  "when the file of an inbox %s while deliveries come",
  (what) => {
    test("none is taken but into the file that is there, and soon they are taken again", async () => {
      const { inbox, file, host, clock, heard } = await onDisk();
      const receiving = await beside(file, host);
      await inbox.store([mail(["before"])]);
      const claim = await claimOne(inbox);
      const moved = DEEDS[what]?.(file);
      const taken: string[] = [];
      async function offer(name: string): Promise<unknown[]> {
        const results = await Promise.all([
          inbox.store([mail([`${name} here`])]),
          receiving.store([raw(mail([`${name} there`]))]),
        ]);
        const names = [`${name} here`, `${name} there`];
        taken.push(...names.filter((_, index) => !(results[index]?.[0] instanceof StorageError)));
        return results.flat();
      }
      const replaced = { code: "file-replaced", fix: expect.any(String) };
      expect(await offer("1")).toMatchObject([replaced, replaced]);
      expect(inbox.ready()).toMatchObject({ ready: false, error: replaced });
      await eventually(async () => {
        await clock.advance(500);
        await offer(`${taken.length} later`);
        expect(taken.filter((name) => name.endsWith("here"))).not.toEqual([]);
        expect(taken.filter((name) => name.endsWith("there"))).not.toEqual([]);
      });
      expect(inbox.stats().disk).toMatchObject({ reopened: { count: 1 }, hasUnstableInodes: false });
      expect(heard.lost).toEqual([claim]);
      await Promise.all([inbox.close(), receiving.close()]);
      expect(keptIn(file)).toEqual(expect.arrayContaining(taken));
      if (moved !== undefined) expect(keptIn(moved)).toContain("before");
    });
  },
);

describe("what runs of a file is lost when that is replaced, and its end changes nothing in the one that is there now,", () => {
  async function running() {
    const { inbox: former, file: other } = await onDisk({ openThread: openInline });
    await former.store([mail([one("new")])]);
    await former.close();
    const channels = faultyChannels();
    const bench = await onDisk({ openThread: channels.open });
    await bench.inbox.store([mail([one("old")]), mail([one("older")])]);
    const claim = (await claimOne(bench.inbox)) as Claim;
    return { ...bench, channels, claim, replace: () => renameSync(other, bench.file) };
  }

  async function expectLost({ inbox, clock, isReady, heard, claim }: Awaited<ReturnType<typeof running>>) {
    await clock.advance(1_000);
    await isReady();
    expect(heard.lost).toEqual([claim]);
    expect(await claimedIds(inbox)).toEqual([]); // its lane waits for the handler
    expect(await inbox.settle([{ claim, outcomes: [DONE] }])).toEqual([false]);
    expect(await claimedIds(inbox)).toEqual(["new"]);
    expect(inbox.stats()).toMatchObject({ waiting: 0, running: 1 });
  }

  test("also where nothing comes", async () => {
    const bench = await running();
    bench.replace();
    await eventually(() => expect(bench.inbox.ready().ready).toBe(false));
    await expectLost(bench);
  });

  test("also where it was not open at that moment", async () => {
    const bench = await running();
    bench.channels.next({ errcode: 1034 });
    await bench.inbox.store([mail(["lost"])]);
    await eventually(() => expect(existsSync(`${bench.file}-wal`)).toBe(false));
    bench.replace();
    await expectLost(bench);
  });
});

test("a job of the file that is there now comes with its own delivery, not with one of the former file that had its id", async () => {
  const { inbox: another, file: other } = await onDisk({ openThread: openInline });
  await another.store([mail([one("new")])]);
  await another.close();
  const { inbox, file, clock, isReady, restart } = await onDisk();
  await inbox.store([mail(["old"])]);
  await restart();
  expect(await claimedIds(inbox)).toEqual(["old"]); // read from the file
  renameSync(other, file);
  await eventually(() => expect(inbox.ready().ready).toBe(false));
  await clock.advance(1_000);
  await isReady();
  expect(await claimedIds(inbox)).toEqual(["new"]);
});

test("a file that is replaced by one with several names is not worked on until it has one", async () => {
  const { inbox, file, clock, isReady } = await onDisk();
  const other = filledFile("another");
  linkSync(other, `${other}.copy`);
  renameSync(other, file);
  await eventually(async () => {
    await clock.advance(500);
    expect(inbox.ready()).toMatchObject({ ready: false, error: { code: "hard-linked" } });
  });
  expect(await inbox.store([mail(["refused"])])).toMatchObject([{ code: "hard-linked" }]);
  rmSync(`${other}.copy`);
  await clock.advance(60_000);
  await isReady();
});

describe("where files have no lasting numbers", () => {
  test("nothing is told of them, wrongly or rightly", () => {
    let looks = 0;
    const opened = openInPlace(join(folderFor(), "inbox.db"), "default", { idOf: () => `${(looks += 1)}` });
    expect(opened.id).toBeUndefined();
    expect(opened.isInPlace()).toBe(true);
    opened.leave();
  });

  test.each([
    ["1", "nothing is lost"],
    ["2", "what runs is lost where it was replaced meanwhile"],
  ])("only for a moment: then it is %s, and %s", async (last) => {
    const ids = ["1", undefined, last];
    const channels = faultyChannels(async (...given) => ({ ...(await openInline(...given)), fileId: ids.shift() }));
    const { inbox, clock, isReady, heard } = await onDisk({ openThread: channels.open });
    await inbox.store([mail([one("runs")])]);
    const claim = await claimOne(inbox);
    for (const left of [1, 0]) {
      channels.next({ errcode: 1034 });
      await inbox.store([mail(["lost"])]);
      await clock.advance(60_000);
      await isReady();
      expect(ids.length).toBe(left);
    }
    expect(heard.lost).toEqual(last === "1" ? [] : [claim]);
    expect(claim && (await inbox.settle([{ claim, outcomes: [DONE] }]))).toEqual([last === "1"]);
  });

  test("the statistics say so", async () => {
    const { inbox, isReady } = await onDisk({
      openThread: async (...given) => ({ ...(await openInline(...given)), fileId: undefined }),
    });
    await isReady();
    expect(inbox.stats().disk).toMatchObject({ hasUnstableInodes: true });
  });
});

test("a file that is replaced in the moment of its opening is opened again", () => {
  const file = join(folderFor(), "inbox.db");
  const ids = ["1", "2", "w", "s"];
  const opened = openInPlace(file, "default", { idOf: (path) => ids.shift() ?? path });
  expect(opened.id).toBe(file);
  opened.leave();
});

/** A closed inbox that holds one delivery. */
function filledFile(id: string): string {
  const file = join(folderFor(), "inbox.db");
  const db = openFile(file, "default");
  insert(db, id);
  db.close();
  return file;
}

function insert(db: DatabaseSync, id: string): void {
  db.exec("UPDATE state SET last_id = last_id + 1");
  db.prepare(
    `INSERT INTO delivery (received_at, sent_at, signed_by, signature, headers, body) VALUES (1, 1, '', '', '', ?)`,
  ).run(Buffer.from(JSON.stringify({ payloads: [{ id }] })));
}

/** The records of all deliveries in a sound file, in their order. */
function keptIn(file: string): string[] {
  const db = new DatabaseSync(file);
  try {
    expect(db.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    const rows = db.prepare("SELECT body FROM delivery ORDER BY id").all();
    return rows.map(({ body }) => String(JSON.parse(Buffer.from(body as Uint8Array).toString()).payloads[0].id));
  } finally {
    db.close();
  }
}

test("of a file that replaced another the tombstones count, also where each had as many changes of them", async () => {
  const put = (inbox: WorkingInbox, subscription: number) =>
    inbox.tombstones.put({ subscription, source: undefined, reason: "of the user" });
  const { inbox, file, host, clock } = await onDisk();
  await put(inbox, 7);
  await inbox.tombstones.list();
  const path = join(folderFor(), "other.db");
  const other = createSqliteInbox({ file: path });
  await other.open(host);
  await put(other, 8);
  await other.close();
  for (const ending of ["-wal", "-shm"]) rmSync(`${file}${ending}`, { force: true });
  renameSync(path, file);
  await eventually(async () => {
    await clock.advance(1_000);
    expect([7, 8].map((id) => inbox.tombstones.find(id, undefined)?.subscription)).toEqual([undefined, 8]);
  });
});
