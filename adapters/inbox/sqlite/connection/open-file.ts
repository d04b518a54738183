import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { CODE, FileError, outOfFiles, PERMIT, primaryCode } from "./file-errors.ts";
import { assertOurs, kindOfFile } from "./file-kind.ts";
import { makePrivate } from "./file-mode.ts";
import { assertLocalDisk } from "./network-disk-check.ts";
import { CHECKPOINT_PAGES, MAX_WAL_BYTES } from "./wal.ts";
import { convertFile, isConvertible, type Converting } from "../schema/convert-file.ts";
import { CURRENT, prepareSchema, type SchemaPlan } from "../schema/tables.ts";

/** How a file is opened. */
export interface OpenOptions {
  /** It was damaged: all of it is looked at before anything else is. @default false */
  readonly isSuspect?: boolean | undefined;
  /** How long another may hold it, milliseconds. @default 5_000 */
  readonly timeoutMs?: number;
  /** SQLite's own. @default what this Node has */
  readonly version?: string;
  /** What this version makes of a file. @default `CURRENT` */
  readonly plan?: SchemaPlan | undefined;
  /** A file of an older version is being converted, or was. */
  readonly converting?: (converting: Converting) => void;
  /** The file is there, and is about to be opened. */
  readonly found?: () => void;
}

/** Before it, several connections could lose pages of the write-ahead log. */
const SAFE_WITH_SEVERAL = [3, 51, 3] as const;

/**
 * Opens the file of an inbox, and makes it where there is none.
 * @throws FileError `network-file-system`, `not-an-inbox`, `pragma-refused`, `schema-newer`, `schema-older`, `name-differs`, `file-busy`, `file-corrupt`,
 * `file-forbidden`, `folder-missing`, `too-many-files`, `disk-full`
 */
export function openFile(file: string, name: string, options: OpenOptions = {}): DatabaseSync {
  const { isSuspect = false, timeoutMs = 5_000, version = ownVersion(), found = () => {} } = options;
  const { plan = CURRENT, converting: tell = () => {} } = options;
  const isExclusive = !isSafeWithSeveral(version);
  let db: DatabaseSync | undefined;

  function openDatabase(): DatabaseSync {
    const opened = new DatabaseSync(file, { timeout: timeoutMs });
    if (isExclusive) opened.exec("PRAGMA locking_mode = EXCLUSIVE");
    return opened;
  }

  try {
    assertLocalDisk(file);
    // Before anything of it changes, its mode included.
    assertOurs(kindOfFile(file, timeoutMs), file);
    makePrivate(file);
    found();
    db = openDatabase();
    if (isSuspect) assertSound(db);
    if (isConvertible(db, plan)) {
      db.close();
      convertFile(file, { plan, timeoutMs, tell });
      db = openDatabase();
    }
    setPragmas(db);
    prepareSchema(db, name, plan);
    return db;
  } catch (error) {
    // Before it is closed: that would make room.
    const none = outOfFiles(error);
    if (db?.isOpen === true) db.close();
    if (none !== undefined) throw none;
    throw isExclusive && primaryCode(error) === CODE.busy ? toBusyError(error, file) : toFileError(error, file);
  }
}

function ownVersion(): string {
  const db = new DatabaseSync(":memory:");
  const version = String(db.prepare("SELECT sqlite_version() AS version").get()?.["version"]);
  db.close();
  return version;
}

function isSafeWithSeveral(version: string): boolean {
  const parts = version.split(".").map(Number);
  for (const [index, least] of SAFE_WITH_SEVERAL.entries()) {
    const part = parts[index] ?? 0;
    if (part !== least) return part > least;
  }
  return true;
}

function assertSound(db: DatabaseSync): void {
  const found = db.prepare("PRAGMA quick_check(1)").get()?.["quick_check"];
  // Told as SQLite tells it when it meets the damage itself.
  if (found !== "ok") throw Object.assign(new Error(String(found)), { errcode: CODE.corrupt });
}

const PRAGMAS: readonly (readonly [name: string, wanted: string | number])[] = [
  ["journal_mode", "wal"],
  ["synchronous", 2], // FULL: a commit is on the disk
  ["fullfsync", 1], // on macOS fsync alone leaves it in the disk's cache
  ["secure_delete", 1], // what is erased is overwritten
  ["wal_autocheckpoint", CHECKPOINT_PAGES],
  ["journal_size_limit", MAX_WAL_BYTES],
  ["mmap_size", 0],
];

function setPragmas(db: DatabaseSync): void {
  // On an old file it would be a write, also where that is then refused or damaged.
  if (db.prepare("PRAGMA page_count").get()?.["page_count"] === 0)
    db.exec("PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL");
  for (const [name, wanted] of PRAGMAS) {
    db.exec(`PRAGMA ${name} = ${wanted}`);
    // Some file systems answer with another mode than the one that was asked for, and no error.
    const got = Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    if (got !== undefined && got !== wanted)
      throw new FileError("pragma-refused", `SQLite answered ${name} = ${String(got)}, expected ${wanted}.`, {
        fix: "Put the inbox on a local disk with an ordinary file system.",
      });
  }
}

function toBusyError(cause: unknown, file: string): FileError {
  return new FileError("file-busy", `Another process has ${file} open, and this Node would have to be the only one.`, {
    cause,
    fix: "This Node's SQLite has a bug with several processes on one file: run Node 22.23, 24.15 or newer in all of them, or one process.",
  });
}

/** What the operating system says of the file's path. */
function toFileError(error: unknown, file: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
      return new FileError("folder-missing", `There is no folder ${dirname(file)} for the inbox file.`, {
        cause: error,
        fix: "Make it first; the inbox makes its files, and no folders.",
      });
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return new FileError("file-forbidden", `${file} cannot be written: ${code}.`, { cause: error, fix: PERMIT });
    case "ENOSPC":
    case "EDQUOT":
      return new FileError("disk-full", `There is no room for ${file}: ${code}.`, { cause: error, fix: "Make room." });
    default:
      return error;
  }
}
