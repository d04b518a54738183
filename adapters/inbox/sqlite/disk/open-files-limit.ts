import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { FileError } from "./file-error.ts";
import { CODE, primaryCode } from "./result-codes.ts";

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
