import { StorageError } from "../../../../src/adapter.ts";
import { CODE, NO_ROOM_FOR_SHM, PERMIT, primaryCode } from "./file-errors.ts";
import type { TaskError } from "../thread/transaction.ts";

/** A thread's error on this side, with what to do about it. @param file its path, where it is known */
export function toStorageError(error: TaskError, file = "The inbox file"): StorageError {
  const { code, message, fix, errcode } = error;
  if (errcode === undefined) return new StorageError(OURS.test(code) ? code : "storage-failed", message, { fix });
  const detail = `SQLite's error ${errcode}: ${message}.`;
  if (errcode === NO_ROOM_FOR_SHM) return diskFull(detail);
  switch (primaryCode(error)) {
    case CODE.busy:
    case CODE.locked:
    case CODE.protocol:
      return new StorageError("file-locked", `Something else holds the inbox file for too long. ${detail}`, {
        fix: "Look for a program with a transaction open on it, such as a backup or a shell, and for a slow disk.",
      });
    case CODE.readonly:
    case CODE.cannotOpen:
      return new StorageError("file-forbidden", `${file} cannot be written. ${detail}`, { fix: PERMIT });
    case CODE.ioError:
      return new StorageError("disk-failed", `The disk failed. ${detail}`, {
        fix: "Look at the disk and at the kernel's log; the file is opened anew, and nothing was acknowledged.",
      });
    case CODE.corrupt:
    case CODE.notADatabase:
      return fileCorrupt(file, detail);
    case CODE.full:
      return diskFull(detail);
    default:
      return new StorageError("storage-failed", detail);
  }
}

/** Whether a commit's outcome is unknown, or the file is not what it was: it must be reopened. */
export function isDoubtful(error: TaskError): boolean {
  return DOUBTFUL.has(primaryCode(error));
}

function fileCorrupt(file: string, detail: string): StorageError {
  return new StorageError("file-corrupt", `${file} is damaged, or no inbox, and is left as it is. ${detail}`, {
    fix: "Check its path. If it is the inbox, stop all processes on it and copy it with the files beside it; then repair it as `docs/operate/storage.md` says, or restore a backup.",
  });
}

function diskFull(detail: string): StorageError {
  return new StorageError("disk-full", `The disk has no room left. ${detail}`, {
    fix: "Make room: what is stored is not lost, what was refused is redelivered, and the inbox goes on by itself.",
  });
}

const DOUBTFUL: ReadonlySet<number | undefined> = new Set([
  CODE.ioError,
  CODE.corrupt,
  CODE.cannotOpen,
  CODE.notADatabase,
]);

/** The code of a FileError; Node's own are in capitals. */
const OURS = /^[a-z]+(?:-[a-z]+)+$/;
