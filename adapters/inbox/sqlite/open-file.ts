import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { FileError } from "./file-error.ts";
import { makePrivate } from "./make-private.ts";
import { migrate } from "./schema.ts";

/** Types of statfs: NFS, SMB, SMB2, CIFS, 9p. WAL needs memory that all processes share. */
const NETWORK_FILE_SYSTEMS: ReadonlySet<number> = new Set([0x6969, 0x517b, 0xfe534d42, 0xff534d42, 0x01021997]);

/** Before it, several connections could lose pages of the write-ahead log. */
const SAFE_WITH_SEVERAL = [3, 51, 3] as const;

/**
 * Opens the file of an inbox, and makes it where there is none.
 * @throws FileError `network-file-system`, `pragma-refused`, `schema-newer`, `name-differs`, `file-busy`
 */
export function openFile(file: string, name: string): DatabaseSync {
  if (NETWORK_FILE_SYSTEMS.has(statfsSync(dirname(file)).type))
    throw new FileError(
      "network-file-system",
      `${file} is on a network file system, where SQLite can lose what it confirmed.`,
      {
        fix: "Put the inbox on a local disk.",
      },
    );
  makePrivate(file);
  const db = new DatabaseSync(file, { timeout: 5_000 });
  try {
    if (!isSafeWithSeveral(db)) db.exec("PRAGMA locking_mode = EXCLUSIVE");
    setPragmas(db);
    migrate(db, name);
    return db;
  } catch (error) {
    db.close();
    throw toOpenError(error, file);
  }
}

function isSafeWithSeveral(db: DatabaseSync): boolean {
  const version = String(db.prepare("SELECT sqlite_version() AS version").get()?.["version"]).split(".").map(Number);
  for (const [index, least] of SAFE_WITH_SEVERAL.entries()) {
    const part = version[index] ?? 0;
    if (part !== least) return part > least;
  }
  return true;
}

const PRAGMAS: readonly (readonly [name: string, wanted: string | number])[] = [
  ["journal_mode", "wal"],
  ["synchronous", 2], // FULL: a commit is on the disk
  ["fullfsync", 1], // on macOS fsync alone leaves it in the disk's cache
  ["secure_delete", 1], // what is erased is overwritten
  ["wal_autocheckpoint", 4_000],
  ["mmap_size", 0],
];

function setPragmas(db: DatabaseSync): void {
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

function toOpenError(error: unknown, file: string): unknown {
  if ((error as { errcode?: number }).errcode !== 5) return error;
  return new FileError("file-busy", `Another process has ${file} for itself.`, {
    cause: error,
    fix: "This Node's SQLite has a bug with several processes on one file: run Node 22.23, 24.15 or newer in all of them, or one process.",
  });
}
