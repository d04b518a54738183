import { existsSync, realpathSync, statfsSync, statSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { StorageError } from "../../../../src/adapter.ts";
import type { ThreadClient, ThreadEvents } from "../thread/thread-client.ts";
import type { ThreadOptions } from "../thread/thread-protocol.ts";
import { toStorageError } from "../connection/to-storage-error.ts";
import { CODE, FileError, primaryCode } from "../connection/file-errors.ts";
import { kindOfFile, type FileKind } from "../connection/file-kind.ts";
import { freeBytes } from "../connection/disk-shortage.ts";
import { walBytes } from "../connection/wal.ts";
import type { FileCounts } from "../thread/file-state.ts";
import { createOperations, READS } from "../thread/operations.ts";
import { assertVersion } from "../schema/tables.ts";
import { toTaskError, type TaskError } from "../thread/transaction.ts";
import { isLocked } from "../work/worker-lock.ts";
import { openToLook, type LookedAt } from "./open-read-only.ts";

/** What the file of an inbox says of itself. */
export interface FileFacts {
  /** Where it really is, behind all links: what lies beside it is there. */
  readonly path: string;
  /** Of the receiver that it belongs to. */
  readonly name: string;
  readonly schemaVersion: number;
  /** Whether some process works on it now. */
  readonly isWorkedOn: boolean;
}

/** How much there is in it, and around it. */
export interface FileStats extends FileCounts {
  /** Lanes whose head waits for its retry. */
  readonly blockedLanes: number;
  readonly tombstones: number;
  readonly fileBytes: number;
  readonly walBytes: number;
  readonly freeDiskBytes: number;
}

/** How long another may hold the file. */
const PATIENCE_MS = 1_000;

/**
 * Looks at a file without making, changing or locking anything.
 * @throws StorageError `inbox-missing`, `not-an-inbox`, `hard-linked`, `schema-newer`, `schema-older`, `file-busy`, `file-forbidden`, `storage-failed`
 */
export function lookAtFile(file: string): FileFacts {
  const found = statsOf(file);
  if (found === undefined) throw new StorageError("inbox-missing", `There is no file ${file}.`, { fix: NAME_IT });
  const path = realpathSync(file);
  if (!found.isFile() || kindIn(path) !== "inbox") throw notAnInbox(file);
  assertUsedName(path, found.nlink);
  return reading(file, (db) => {
    const schemaVersion = Number(db.prepare("PRAGMA user_version").get()?.["user_version"]);
    if (schemaVersion === 0) throw notAnInbox(file);
    assertVersion(schemaVersion, file);
    const name = String(db.prepare("SELECT value FROM meta WHERE key = 'name'").get()?.["value"]);
    return { path, name, schemaVersion, isWorkedOn: isLocked(`${path}-lock`) ?? true };
  });
}

function statsOf(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EACCES") throw forbidden(file, error);
    throw error;
  }
}

/** @param file its real path, as {@link lookAtFile} found it @param now milliseconds since the epoch */
export function statsOfFile(file: string, now: number): FileStats {
  return reading(file, (db) => {
    const count = (sql: string, ...values: number[]): number => Number(db.prepare(sql).get(...values)?.["count"]);
    return {
      ...countsIn(db),
      blockedLanes: count("SELECT count(DISTINCT lane) AS count FROM job WHERE run_at > ?", now),
      tombstones: count("SELECT count(*) AS count FROM tombstone"),
      fileBytes: statSync(file).size,
      walBytes: walBytes(file),
      freeDiskBytes: freeBytes(statfsSync(dirname(file))),
    };
  });
}

function countsIn(db: DatabaseSync): FileCounts {
  const operations = createOperations(db, { dedupeWindowMs: 0 });
  operations.begin(undefined);
  return operations.counts(false);
}

/** A receiver that has worked on it has left its lock beside the name that it uses: by another name its log is not found. */
function assertUsedName(path: string, names: number): void {
  if (names < 2 || existsSync(`${path}-lock`)) return;
  throw new StorageError("hard-linked", `${path} has ${names} names (hard links), and no receiver uses this one.`, {
    fix: "Use the name that the receiver was given: its write-ahead log lies beside that name only.",
  });
}

function kindIn(file: string): FileKind {
  try {
    return kindOfFile(file, PATIENCE_MS);
  } catch (error) {
    const code = primaryCode(error);
    // Why it cannot be opened, the look itself tells.
    if (code === CODE.readonly || code === CODE.cannotOpen) return "inbox";
    throw toLookError(error, file);
  }
}

function reading<T>(file: string, read: (db: DatabaseSync) => T): T {
  let looked: LookedAt | undefined;
  try {
    looked = openToLook(file, PATIENCE_MS);
    const found = read(looked.db);
    looked.assertUnchanged();
    return found;
  } catch (error) {
    throw toLookError(error, file);
  } finally {
    looked?.db.close();
  }
}

/** Why a file cannot be read, in terms of the inbox. */
export function toLookError(error: unknown, file: string): unknown {
  switch (primaryCode(error)) {
    case undefined:
      return error instanceof FileError ? toStorageError(toTaskError(error)) : error;
    case CODE.busy:
      return new StorageError("file-busy", `Another process holds ${file} exclusively.`, {
        cause: error,
        fix: "The SQLite of its Node has a bug with several processes on one file: run Node 22.23, 24.15 or newer there, or stop it first.",
      });
    case CODE.readonly:
    case CODE.cannotOpen:
      return forbidden(file, error);
    case CODE.error: // no such table
    case CODE.notADatabase:
      return notAnInbox(file, error);
    default:
      return toStorageError(toTaskError(error));
  }
}

function forbidden(file: string, cause: unknown): StorageError {
  return new StorageError("file-forbidden", `${file} cannot be read by this user.`, {
    cause,
    fix: "Run this as the user of the receiver, or give this user the right to read the file and those of the same name beside it, in their folder.",
  });
}

function notAnInbox(file: string, cause?: unknown): StorageError {
  return new StorageError("not-an-inbox", `${file} is no inbox of Hookline.`, { cause, fix: NAME_IT });
}

const NAME_IT =
  "Name the file that the receiver was given, sqliteInbox(file), or a connection string: it begins with postgres://.";

const READ_ONLY: TaskError = {
  code: "storage-failed",
  message: "The inbox was opened to read only: it changes nothing.",
  fix: undefined,
  errcode: undefined,
};

/**
 * The way to a file for one who only looks: on the caller's own thread, read-only, so that nothing is made or brought up to date, and no
 * commit of a receiver waits. Commits of other processes are not reported.
 */
export async function openToRead({ file, dedupeWindowMs }: ThreadOptions, events: ThreadEvents): Promise<ThreadClient> {
  const { db, assertUnchanged } = openToLook(file, 5_000);
  const operations = createOperations(db, { dedupeWindowMs });
  events.counted(operations.counts(false));
  const close = (): void => db.close();
  return {
    fileId: undefined,
    // It answers nothing, so that none of its tombstones need be current.
    lastLook: () => ({ tombstones: Number.NaN, agoMs: Infinity }),
    async run({ tasks, bytes }) {
      // What cannot be written fails alone: a file that fails would be reopened.
      if (!tasks.every(({ verb }) => READS.has(verb))) return tasks.map(() => ({ error: READ_ONLY }));
      try {
        db.exec("BEGIN");
        operations.begin(undefined);
        const results = tasks.map(({ verb, input }) => ({
          value: (operations[verb] as (input: unknown, bytes: Uint8Array) => unknown)(input, bytes),
        }));
        assertUnchanged();
        return results;
      } catch (error) {
        throw toLookError(error, file);
      } finally {
        if (db.isTransaction) db.exec("ROLLBACK");
      }
    },
    unref() {},
    close: async () => close(),
    abandon: close,
  };
}
