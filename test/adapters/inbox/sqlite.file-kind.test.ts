import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { kindOf } from "../../../adapters/inbox/sqlite/connection/file-kind.ts";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { openFile } from "../../../adapters/inbox/sqlite/connection/open-file.ts";
import { wallClock } from "../../suites/inbox/wall-clock.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { openInline } from "./inline-thread.ts";
import { folderFor } from "./on-disk.ts";

const NOT_OURS = { code: "not-an-inbox", fix: expect.stringContaining("Name a file") };

/** A database of somebody else, closed. */
function foreign(sql: string): string {
  const file = join(folderFor(), "inbox.db");
  const db = new DatabaseSync(file);
  db.exec(sql);
  db.close();
  chmodSync(file, 0o644);
  return file;
}

/** Names, modes and bytes of a file and of all that is beside it, but for the index of a log, which every reader notes itself in. */
function stateOf(file: string): unknown {
  const folder = dirname(file);
  return readdirSync(folder)
    .toSorted()
    .map((name) => {
      const path = join(folder, name);
      return [name, statSync(path).mode, name.endsWith("-shm") ? "" : readFileSync(path).toString("base64")];
    });
}

async function refusalOf(file: string): Promise<unknown> {
  const inbox = createSqliteInbox({ file, openThread: openInline });
  const host = { name: "default", clock: wallClock(), log: logRecorder().logger, dedupeWindowMs: 1 };
  const refused = await inbox.open(host).catch((error: unknown) => error);
  await inbox.close();
  return refused;
}

describe("a database of another program is refused, and nothing of it changes:", () => {
  test.each([
    ["one with tables", "CREATE TABLE a (b)"],
    ["one with a version", "PRAGMA user_version = 1; CREATE TABLE meta (key, value)"],
    ["one with a version, and no tables yet", "PRAGMA user_version = 7"],
    ["one with an identity, and no tables yet", "PRAGMA application_id = 252006674"],
    [
      "one with an identity and our tables",
      "PRAGMA application_id = 1; PRAGMA user_version = 1; CREATE TABLE meta (key, value)",
    ],
    ["one with a write-ahead log", "PRAGMA journal_mode = WAL; CREATE TABLE a (b)"],
  ])("%s", async (_what, sql) => {
    const file = foreign(sql);
    const before = stateOf(file);
    expect(await refusalOf(file)).toMatchObject({ ...NOT_OURS, message: expect.stringContaining(file) });
    expect(stateOf(file)).toEqual(before);
  });

  test("one in use, of which all is still in its log", async () => {
    const file = foreign("PRAGMA journal_mode = WAL");
    const db = new DatabaseSync(file);
    onTestFinished(() => db.close());
    db.exec("CREATE TABLE a (b)");
    const before = stateOf(file);
    expect(await refusalOf(file)).toMatchObject(NOT_OURS);
    expect(stateOf(file)).toEqual(before);
  });

  test("one that its program makes in the moment in which an empty file is opened", () => {
    const file = join(folderFor(), "inbox.db");
    const found = (): void => {
      const db = new DatabaseSync(file);
      db.exec("CREATE TABLE a (b)");
      db.close();
    };
    expect(() => openFile(file, "default", { found })).toThrow(expect.objectContaining(NOT_OURS));
    const db = new DatabaseSync(file);
    expect(db.prepare("SELECT name FROM sqlite_schema").all()).toEqual([{ name: "a" }]);
    db.close();
  });
});

test("an empty file is taken, and becomes an inbox that others can tell", () => {
  const file = join(folderFor(), "inbox.db");
  writeFileSync(file, "");
  openFile(file, "default").close();
  const db = new DatabaseSync(file);
  expect(db.prepare("PRAGMA application_id").get()).toEqual({ application_id: 0x484b4c4e });
  expect(kindOf(db)).toBe("inbox");
  db.close();
  openFile(file, "default").close();
});

test("a file whose making was cut off anywhere is opened again", () => {
  const folder = folderFor();
  const file = join(folder, "inbox.db");
  const copies: string[] = [];
  /** What a process that is killed here leaves behind, with its log or without. */
  const copy = (): void => {
    for (const endings of [[""], ["", "-wal"]]) {
      const to = join(folder, String(copies.length));
      mkdirSync(to);
      copies.push(join(to, "inbox.db"));
      for (const ending of endings)
        if (existsSync(`${file}${ending}`)) copyFileSync(`${file}${ending}`, join(to, `inbox.db${ending}`));
    }
  };
  const { exec } = DatabaseSync.prototype;
  const spy = vi.spyOn(DatabaseSync.prototype, "exec").mockImplementation(function each(this: DatabaseSync, sql) {
    copy();
    exec.call(this, sql);
    copy();
  });
  onTestFinished(() => spy.mockRestore());
  openFile(file, "default").close();
  spy.mockRestore();
  expect(copies.length).toBeGreaterThan(40);
  for (const half of copies) {
    const db = openFile(half, "default");
    expect(db.prepare("SELECT value FROM meta WHERE key = 'name'").get()).toEqual({ value: "default" });
    expect(kindOf(db)).toBe("inbox");
    db.close();
  }
});
