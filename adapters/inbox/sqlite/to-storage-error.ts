import { StorageError } from "../../../src/adapter.ts";
import type { TaskError } from "./batch.ts";
import { PERMIT } from "./file-error.ts";

/** A thread's error on this side, with what to do about it. */
export function toStorageError({ code, message, fix, errcode }: TaskError): StorageError {
  if (errcode === undefined) return new StorageError(KNOWN.has(code) ? code : "storage-failed", message, { fix });
  const told = `SQLite's error ${errcode}: ${message}.`;
  if (errcode === NO_ROOM_FOR_SHM) return diskFull(told);
  switch (errcode % 256) {
    case 5: // busy
    case 6: // locked
      return new StorageError("file-locked", `Something else holds the inbox file for too long. ${told}`, {
        fix: "Look for a program with a transaction open on it, such as a backup or a shell, and for a slow disk.",
      });
    case 8: // readonly
    case 14: // cantopen
      return new StorageError("file-forbidden", `The inbox file cannot be written. ${told}`, { fix: PERMIT });
    case 10: // ioerr
      return new StorageError("disk-failed", `The disk failed. ${told}`, {
        fix: "Look at the disk and at the kernel's log; the file is opened anew, and nothing was acknowledged.",
      });
    case 11: // corrupt
    case 26: // notadb
      return fileCorrupt(told);
    case 13: // full
      return diskFull(told);
    default:
      return new StorageError("storage-failed", told);
  }
}

/** Whether a commit's outcome is unknown, or the file is not what it was: it is to be opened anew. */
export function isDoubtful({ errcode }: TaskError): boolean {
  return errcode !== undefined && DOUBTFUL.has(errcode % 256);
}

function fileCorrupt(told: string): StorageError {
  return new StorageError("file-corrupt", `The inbox file is damaged, and is left as it is. ${told}`, {
    fix: 'Stop all processes on it and keep a copy of it and of the files beside it; then `sqlite3 inbox.db ".recover" >new.sql` and `sqlite3 new.db <new.sql`, put new.db in its place without the old -wal and -shm, or restore a backup.',
  });
}

function diskFull(told: string): StorageError {
  return new StorageError("disk-full", `The disk has no room left. ${told}`, {
    fix: "Make room: what is kept is not lost, what was refused is redelivered, and the inbox goes on by itself.",
  });
}

/** It is an I/O error by its number. */
const NO_ROOM_FOR_SHM = 4_874;

const DOUBTFUL: ReadonlySet<number> = new Set([10, 11, 14, 26]); // ioerr corrupt cantopen notadb

const KNOWN: ReadonlySet<string> = new Set([
  "network-file-system",
  "pragma-refused",
  "schema-newer",
  "name-differs",
  "file-busy",
  "file-corrupt",
  "file-forbidden",
  "folder-missing",
  "disk-full",
  "epoch-stale",
]);
