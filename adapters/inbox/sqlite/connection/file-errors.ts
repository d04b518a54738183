import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";

/** What went wrong with the file, as it crosses from the commit thread: the other side makes a StorageError of it. */
export class FileError extends Error {
  override name = "FileError";
  readonly code: string;
  readonly fix: string | undefined;

  constructor(code: string, message: string, options: { readonly fix?: string; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.fix = options.fix;
  }
}

/** What is to be done about a file that this process may not write. */
export const PERMIT: string =
  "Give the user of this process the right to write the file, those of the same name beside it, and their folder; under systemd's ProtectSystem=, name the folder in ReadWritePaths=.";

/** The primary result codes of SQLite that are distinguished here. @see https://www.sqlite.org/rescode.html */
export const CODE = {
  error: 1,
  busy: 5,
  locked: 6,
  noMemory: 7,
  readonly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  /** Another held the log for so long that it could not even be read. */
  protocol: 15,
  notADatabase: 26,
} as const;

/** A full disk, where there is no room for the memory that processes share: an I/O error by its number. */
export const NO_ROOM_FOR_SHM = 4_874;

/** The primary code of an error of SQLite, whichever of its kinds it is; undefined for an error from elsewhere. */
export function primaryCode(error: unknown): number | undefined {
  const { errcode } = error as { readonly errcode?: number | undefined };
  return errcode === undefined ? undefined : errcode % 256;
}

/**
 * The error that says so, where this failed because the process, or the machine, has as many files and sockets open as it may. SQLite does
 * not tell that from a file that may not be opened.
 */
export function outOfFiles(error: unknown): FileError | undefined {
  const isOut = isOutOfFiles(error) || (primaryCode(error) === CODE.cannotOpen && hasNoneLeft());
  if (!isOut) return undefined;
  return new FileError("too-many-files", `No file can be opened: too many are open already. ${String(error)}.`, {
    cause: error,
    fix: "Look for what leaves files or sockets open, or raise the limit: `ulimit -n`, `LimitNOFILE=` of systemd.",
  });
}

/** A thread cannot even begin then, and tells the cause in its message alone. */
function isOutOfFiles(error: unknown): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  return OUT_OF_FILES.test(code === "ERR_WORKER_INIT_FAILED" ? message : String(code));
}

const OUT_OF_FILES = /\b(EMFILE|ENFILE)\b/;

function hasNoneLeft(): boolean {
  try {
    closeSync(openSync(devNull, "r"));
    return false;
  } catch (error) {
    return isOutOfFiles(error);
  }
}
