import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { toStorageError } from "../../../adapters/inbox/sqlite/connection/to-storage-error.ts";
import { FileError } from "../../../adapters/inbox/sqlite/connection/file-errors.ts";
import { assertLocalDisk } from "../../../adapters/inbox/sqlite/connection/network-disk-check.ts";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { openFile } from "../../../adapters/inbox/sqlite/connection/open-file.ts";
import { startNode } from "../../cli/child.ts";
import { mail, one } from "../../suites/inbox/deliveries.ts";
import { wallClock, type WallClock } from "../../suites/inbox/wall-clock.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { faultyChannels } from "./faulty-thread.ts";
import { openInline } from "./inline-thread.ts";
import { claimedIds, folderFor, onDisk } from "./on-disk.ts";

const modeOf = (file: string): string => (statSync(file).mode & 0o777).toString(8);

function open(file: string, options?: Parameters<typeof openFile>[2]): DatabaseSync {
  const db = openFile(file, "default", options);
  onTestFinished(() => void (db.isOpen && db.close()));
  return db;
}

/** What an inbox says when it cannot be opened. */
async function refusal(file: string): Promise<unknown> {
  const host = { name: "default", clock: wallClock(), log: logRecorder().logger, dedupeWindowMs: 1 };
  const inbox = createSqliteInbox({ file, openThread: openInline });
  return inbox.open(host).catch((error: unknown) => error);
}

const SIDECARS = ["", "-wal", "-shm", "-lock"];
const NO_RIGHT = { code: "ERR_SQLITE_ERROR", message: "unable to open database file", fix: undefined, errcode: 14 };

describe("the files of an inbox are for their owner alone", () => {
  test("all of them, whatever the umask is, and those from before", async () => {
    const file = join(folderFor(), "inbox.db");
    for (const mode of [0o644, 0o600]) {
      const child = startNode(["test/adapters/inbox/lax-process.ts", file]);
      await child.says("out", /^stored\n/m);
      expect(SIDECARS.map((ending) => [ending, modeOf(`${file}${ending}`)])).toEqual(
        SIDECARS.map((ending) => [ending, "600"]),
      );
      child.kill("SIGKILL");
      await child.ended;
      for (const ending of SIDECARS) chmodSync(`${file}${ending}`, mode);
    }
  });
});

test.each([
  ["journal_mode", "wal"],
  ["synchronous", 2],
  ["fullfsync", 1],
  ["secure_delete", 1],
  ["mmap_size", 0],
])("a commit is on the disk when it is confirmed, and what is erased is gone: %s is %s", (pragma, value) => {
  const db = open(join(folderFor(), "inbox.db"));
  // On files in memory there is nothing to map, and no answer.
  expect(Object.values(db.prepare(`PRAGMA ${pragma}`).get() ?? { none: value })).toEqual([value]);
});

describe("an inbox is refused, with the path and the fix,", () => {
  test.each([
    [0x6969, "NFS"],
    [0xff534d42, "SMB"],
    [0x01021997, "9p"],
    [0x65735546, "FUSE"],
  ])("on a file system of type 0x%x, which is %s", (type, name) => {
    const refused = expect.objectContaining({ code: "network-file-system", message: expect.stringContaining(name) });
    expect(() => assertLocalDisk("data/inbox.db", () => type)).toThrow(refused);
    expect(() => assertLocalDisk("data/inbox.db", () => type)).toThrow(FileError);
  });

  test.each([
    [0xef53, "ext4"],
    [0x794c7630, "an overlay, which a container's root is"],
    [0, "what Windows says"],
  ])("but not on type 0x%x: %s", (type) => {
    expect(() => assertLocalDisk("inbox.db", () => type)).not.toThrow();
  });

  test("in a folder that is not there", async () => {
    const folder = join(folderFor(), "missing");
    expect(await refusal(join(folder, "inbox.db"))).toMatchObject({
      code: "folder-missing",
      message: expect.stringContaining(folder),
      fix: expect.any(String),
    });
    writeFileSync(folder, "");
    expect(await refusal(join(folder, "inbox.db"))).toMatchObject({ code: "folder-missing" });
  });

  test.skipIf(process.platform === "win32")(
    "where the process has too many files open, however many it lacks",
    async () => {
      const args = ["--conditions=hookline-source", "test/adapters/inbox/crowded-process.ts", folderFor()];
      const child = spawn("sh", ["-c", 'ulimit -n 96 && exec "$0" "$@"', process.execPath, ...args], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const failures = JSON.parse(await text(child.stdout)) as readonly { readonly message: string }[];
      const crowded = {
        code: "too-many-files",
        message: expect.stringContaining("too many are open already"),
        fix: expect.stringContaining("ulimit -n"),
      };
      expect(failures).toEqual(failures.map(() => crowded));
      expect(failures.map(({ message }) => message).join()).toMatch(/Worker.*EMFILE.*unable to open database file/);
    },
  );

  test("where its name is a folder's, which stays as it is", async () => {
    const file = join(folderFor(), "inbox.db");
    mkdirSync(file, { mode: 0o755 });
    expect(await refusal(file)).toMatchObject({ code: "file-forbidden", message: expect.stringContaining(file) });
    expect(modeOf(file)).toBe("755");
  });

  test("where this user may not write", async () => {
    // Not even root may make a file there; elsewhere the like of it is told by hand.
    const there = existsSync("/sys/kernel") ? await refusal("/sys/inbox.db") : toStorageError(NO_RIGHT);
    expect(there).toMatchObject({ code: "file-forbidden", fix: expect.stringContaining("right to write") });
  });

  test("with the code of the thread's own error, and never with one of Node's", () => {
    const coded = (code: string) => toStorageError({ code, message: "no", fix: undefined, errcode: undefined });
    expect(coded("some-new-code")).toMatchObject({ name: "StorageError", code: "some-new-code" });
    expect(coded("ERR_INVALID_ARG_TYPE")).toMatchObject({ name: "StorageError", code: "storage-failed" });
  });

  test("by SQLite before 3.51.3 where another process has it, which is told the Node that lifts that", () => {
    const file = join(folderFor(), "inbox.db");
    const old = { version: "3.51.2", timeoutMs: 0 };
    open(file, old);
    const busy = expect.objectContaining({ code: "file-busy", fix: expect.stringContaining("Node 22.23") });
    expect(() => open(file, old)).toThrow(busy);
    expect(existsSync(`${file}-shm`)).toBe(false);
  });

  test.each(["3.51.3", "3.53.0", "4.0.0"])("but not by %s, under which several share it", (version) => {
    const file = join(folderFor(), "inbox.db");
    open(file, { version });
    open(file, { version });
  });
});

describe("a damaged file", () => {
  test("is told at once where it is no database at all, and is left as it is", async () => {
    const file = join(folderFor(), "inbox.db");
    writeFileSync(file, "no database ".repeat(1_000));
    const before = readFileSync(file);
    expect(await refusal(file)).toMatchObject({
      code: "file-corrupt",
      fix: expect.stringContaining("docs/operate/storage.md"),
    });
    expect(readFileSync(file)).toEqual(before);
  });

  test("stops all keeping when it is met, is looked at a minute later at the earliest, and again when it was mended", async () => {
    const channels = faultyChannels(openInline);
    const { inbox, clock, file, isReady } = await onDisk({ openThread: channels.open });
    await inbox.store([mail([one("a")])]);
    channels.next({ errcode: 11 });
    const damaged = { code: "file-corrupt", fix: expect.stringContaining("docs/operate/storage.md") };
    expect(await inbox.store([mail(["b"])])).toMatchObject([damaged]);
    const whole = readFileSync(file);
    const half = Buffer.concat([whole.subarray(0, 8_192), Buffer.alloc(whole.length - 8_192, "no page")]);
    writeFileSync(file, half);
    await clock.advance(2_000);
    clock.jump(60_000);
    expect(channels.opened).toBe(1);
    await pass(clock, 60_000);
    expect(await inbox.store([mail(["b"])])).toMatchObject([damaged]);
    expect(inbox.ready()).toMatchObject({ ready: false, error: damaged, hopeless: false });
    expect(readFileSync(file)).toEqual(half);
    writeFileSync(file, whole);
    await pass(clock, 120_000);
    await isReady();
    expect(channels.opened).toBe(2);
    expect(await claimedIds(inbox)).toEqual(["a"]);
  });
});

/** All timers of that time fire: a longer stretch would be jumped over. */
async function pass(clock: WallClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 2_000) await clock.advance(2_000);
}
