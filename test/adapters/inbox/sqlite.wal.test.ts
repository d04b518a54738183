import { existsSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { createWal, createWalWatch, MAX_WAL_BYTES, walBytes } from "../../../adapters/inbox/sqlite/connection/wal.ts";
import { createVacuum } from "../../../adapters/inbox/sqlite/upkeep/retention-steps.ts";
import { openFile } from "../../../adapters/inbox/sqlite/connection/open-file.ts";
import { logRecorder } from "../../support/log-recorder.ts";

const MIB = 1024 * 1024;

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "hookline-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** A file with a table of bytes; its log grows unless it is looked after. */
function bench() {
  const file = join(folder(), "inbox.db");
  const db = openFile(file, "default");
  onTestFinished(() => {
    if (db.isOpen) db.close();
  });
  db.exec("CREATE TABLE filler (id INTEGER PRIMARY KEY, bytes BLOB)");
  const write = (mib: number): void => {
    const insert = db.prepare("INSERT INTO filler (bytes) VALUES (zeroblob(?))");
    for (let left = mib; left > 0; left -= 1) insert.run(MIB);
  };
  return { file, db, wal: createWal(db, file), write };
}

/** Another process's look at the file, which lasts. */
function longRead(file: string): DatabaseSync {
  const reader = new DatabaseSync(file, { readOnly: true });
  reader.exec("BEGIN; SELECT count(*) FROM filler");
  onTestFinished(() => {
    if (reader.isOpen) reader.close();
  });
  return reader;
}

/** What the file itself has, without its log. */
function pagesAlone(file: string): number {
  return statSync(file).size / 8_192;
}

test("where the disk has no room for a commit, the log gives back its own, once a second", () => {
  const { file, wal, write } = bench();
  write(4);
  wal.full(0);
  expect(walBytes(file)).toBe(0);
  expect(pagesAlone(file)).toBeGreaterThan(500);
  write(1);
  wal.full(999);
  expect(walBytes(file)).toBeGreaterThan(MIB);
  wal.full(1_000);
  expect(walBytes(file)).toBe(0);
});

test("once nothing is committed for a second, the log is written back", () => {
  const { file, wal, write } = bench();
  write(4);
  wal.committed(10_000);
  const before = pagesAlone(file);
  wal.look(10_999);
  expect(pagesAlone(file)).toBe(before);
  wal.look(11_000);
  expect(pagesAlone(file)).toBeGreaterThan(before + 500);
});

test("a log over 64 MiB is cut off as soon as no long read is in the way, and holds up nobody meanwhile", () => {
  const { file, db, wal, write } = bench();
  const reader = longRead(file);
  write(70);
  wal.look(1_000);
  expect(walBytes(file)).toBeGreaterThan(MAX_WAL_BYTES);
  write(1);
  expect(db.prepare("PRAGMA busy_timeout").get()).toEqual({ timeout: 5_000 });
  reader.close();
  wal.look(1_999);
  expect(walBytes(file)).toBeGreaterThan(MAX_WAL_BYTES);
  wal.look(2_000);
  expect(walBytes(file)).toBe(0);
});

test("without any look SQLite cuts the log to 64 MiB itself when it begins anew", () => {
  const { file, write } = bench();
  const reader = longRead(file);
  write(70);
  reader.close();
  write(40);
  expect(walBytes(file)).toBeLessThanOrEqual(MAX_WAL_BYTES);
});

test("a closed file stands alone, though another process has it open", () => {
  const { file, db, wal, write } = bench();
  const other = new DatabaseSync(file);
  onTestFinished(() => other.close());
  other.prepare("SELECT count(*) FROM filler").get();
  write(2);
  wal.close();
  db.close();
  expect(walBytes(file)).toBe(0);
  expect(existsSync(`${file}-wal`)).toBe(true);
});

test("a full disk leaves all in the log; any other error is the file's", () => {
  const { file } = bench();
  let errcode = 13;
  const failing = {
    exec() {},
    prepare(): never {
      throw Object.assign(new Error("no"), { errcode });
    },
  };
  const wal = createWal(failing, file);
  wal.committed(0);
  wal.look(999);
  wal.look(1_500);
  errcode = 1034;
  wal.committed(1_500);
  expect(() => wal.look(2_500)).toThrow("no");
});

test("where the disk had no room for what the log holds either, it is tried again until there is some", () => {
  const { file } = bench();
  let isFull = true;
  const tries: boolean[] = [];
  const full = {
    exec() {},
    prepare: () => ({
      get() {
        tries.push(isFull);
        if (isFull) throw Object.assign(new Error("full"), { errcode: 13 });
        return { busy: 0 };
      },
    }),
  };
  const wal = createWal(full as never, file);
  const triedBy = (step: () => void): number => {
    const before = tries.length;
    step();
    return tries.length - before;
  };
  wal.full(0);
  expect(triedBy(() => wal.look(1_000))).toBeGreaterThan(0);
  expect(triedBy(() => wal.committed(1_100))).toBeGreaterThan(0);
  isFull = false;
  expect(triedBy(() => wal.committed(1_200))).toBeGreaterThan(0);
  expect(triedBy(() => wal.committed(1_300))).toBe(0);
  expect(triedBy(() => wal.look(2_000))).toBe(0);
});

test("a log over 1 GiB is said once, and again when it comes back", () => {
  const { lines, logger } = logRecorder();
  const file = join(folder(), "inbox.db");
  const look = createWalWatch(
    () => file,
    () => logger,
  );
  look();
  writeFileSync(`${file}-wal`, "");
  for (const gib of [0.5, 2, 3, 0.5, 2]) {
    truncateSync(`${file}-wal`, gib * 1024 * MIB);
    look();
  }
  expect(lines.map(({ level, facts }) => [level, facts["code"], facts["bytes"]])).toEqual([
    ["warn", "wal-long", 2 * 1024 * MIB],
    ["warn", "wal-long", 2 * 1024 * MIB],
  ]);
});

test("free pages are given back in small steps while they are many", () => {
  const { db, write } = bench();
  const { vacuum } = createVacuum(db);
  const pages = () => Number(db.prepare("PRAGMA page_count").get()?.["page_count"]);
  write(20);
  expect(vacuum()).toBe(false);
  db.exec("DELETE FROM filler WHERE id % 2 = 1");
  const before = pages();
  expect(vacuum()).toBe(true);
  expect(pages()).toBe(before - 64);
  while (vacuum());
  expect(Number(db.prepare("PRAGMA freelist_count").get()?.["freelist_count"])).toBeLessThanOrEqual(1_000);
  expect(pages()).toBeLessThan(before - 200);
  expect(db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
});
