import { StorageError } from "hookline";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { toStorageError } from "../../../adapters/inbox/sqlite/connection/to-storage-error.ts";
import { CODE, FileError, NO_ROOM_FOR_SHM, outOfFiles } from "../../../adapters/inbox/sqlite/connection/file-errors.ts";
import { lookAtFile, toLookError } from "../../../adapters/inbox/sqlite/inspect/inspect-file.ts";
import { openToLook, openUnshared } from "../../../adapters/inbox/sqlite/inspect/open-read-only.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { folderFor, onDisk } from "./on-disk.ts";

const sqlite = (errcode: number, message = "no") =>
  Object.assign(new Error(message), { code: "ERR_SQLITE_ERROR", errcode });

describe("one who only looks is told", () => {
  test("that somebody works on it where the lock cannot be looked at: nothing is to be done then", async () => {
    const { inbox, file } = await onDisk();
    await inbox.close();
    expect(lookAtFile(file)).toMatchObject({ isWorkedOn: false });
    rmSync(`${file}-lock`);
    mkdirSync(`${file}-lock`);
    expect(lookAtFile(file)).toMatchObject({ isWorkedOn: true });
  });

  test.each([
    [CODE.busy, "file-busy"],
    [CODE.readonly, "file-forbidden"],
    [CODE.cannotOpen, "file-forbidden"],
    [CODE.error, "not-an-inbox"],
    [CODE.notADatabase, "not-an-inbox"],
    [CODE.corrupt, "file-corrupt"],
    [CODE.ioError, "disk-failed"],
    [CODE.locked, "file-locked"],
    [19, "storage-failed"],
  ])("for SQLite's error %i, of any kind of it, that it is %s", (errcode, code) => {
    for (const kind of [errcode, errcode + 256])
      expect(toLookError(sqlite(kind), "inbox.db")).toMatchObject({ name: "StorageError", code });
  });

  test("what the file's own check found, and any other error as it is", () => {
    const found = new FileError("schema-newer", "It is of version 9.", { fix: "Upgrade." });
    expect(toLookError(found, "inbox.db")).toMatchObject({
      name: "StorageError",
      code: "schema-newer",
      fix: "Upgrade.",
    });
    const other = new TypeError("no");
    expect(toLookError(other, "inbox.db")).toBe(other);
  });

  test("that there is no file, or none of an inbox", () => {
    const folder = folderFor();
    expect(() => lookAtFile(join(folder, "gone.db"))).toThrow(expect.objectContaining({ code: "inbox-missing" }));
    mkdirSync(join(folder, "folder.db"));
    expect(() => lookAtFile(join(folder, "folder.db"))).toThrow(expect.objectContaining({ code: "not-an-inbox" }));
    writeFileSync(join(folder, "text.db"), "no database, but a text of some length".repeat(100));
    expect(() => lookAtFile(join(folder, "text.db"))).toThrow(expect.objectContaining({ code: "not-an-inbox" }));
    writeFileSync(join(folder, "empty.db"), "");
    expect(() => lookAtFile(join(folder, "empty.db"))).toThrow(expect.objectContaining({ code: "not-an-inbox" }));
  });

  test("what SQLite says of a file that is no database, which is not looked at in another way", () => {
    const file = join(folderFor(), "text.db");
    writeFileSync(file, "no database, but a text of some length".repeat(100));
    expect(() => openToLook(file, 0)).toThrow(expect.objectContaining({ errcode: CODE.notADatabase }));
  });

  test("that commits in a log cannot be read where nothing may be written beside it", async () => {
    const { inbox, file } = await onDisk();
    await inbox.store([mail(["a"])]);
    const cause = sqlite(CODE.readonly);
    const forbidden = { code: "file-forbidden", message: expect.stringContaining("-wal holds commits"), cause };
    expect(() => openUnshared(file, cause)).toThrow(expect.objectContaining(forbidden));
    const { db, assertUnchanged } = openToLook(file, 0);
    onTestFinished(() => db.close());
    expect(db.prepare("SELECT count(*) AS count FROM job").get()).toEqual({ count: 1 });
    expect(assertUnchanged()).toBeUndefined();
  });
});

describe("a file that cannot be opened", () => {
  test("is not told as one too many while others can be", () => {
    expect(outOfFiles(sqlite(CODE.cannotOpen))).toBeUndefined();
    expect(outOfFiles(sqlite(CODE.ioError))).toBeUndefined();
    expect(outOfFiles(new Error("no"))).toBeUndefined();
  });

  test.each([
    Object.assign(new Error("open"), { code: "EMFILE" }),
    Object.assign(new Error("open"), { code: "ENFILE" }),
    Object.assign(new Error("Worker initialization failure: EMFILE"), { code: "ERR_WORKER_INIT_FAILED" }),
  ])("is one too many where Node says so: %s", (cause) => {
    expect(outOfFiles(cause)).toMatchObject({ code: "too-many-files", cause });
  });
});

test.each([
  [CODE.full, "disk-full"],
  [NO_ROOM_FOR_SHM, "disk-full"],
  [CODE.readonly, "file-forbidden"],
  [CODE.cannotOpen, "file-forbidden"],
  [CODE.busy, "file-locked"],
  [CODE.notADatabase, "file-corrupt"],
  [CODE.ioError, "disk-failed"],
  [1, "storage-failed"],
])("a thread's error %i of SQLite is %s", (errcode, code) => {
  const error = toStorageError({ code: "ERR_SQLITE_ERROR", message: "no", fix: undefined, errcode });
  expect(error).toBeInstanceOf(StorageError);
  expect(error).toMatchObject({ code, message: expect.stringContaining(`SQLite's error ${errcode}: no.`) });
});
