import { chmodSync, chownSync, closeSync, openSync, statSync } from "node:fs";
import { FileError, PERMIT } from "./file-errors.ts";

/** SQLite gives its sidecar files the mode that the file has when they are made. */
const SIDECARS = ["-wal", "-shm", "-journal"] as const;

/**
 * A file for its owner alone, whatever the umask is: mail is in it. One that is there is never opened here, because closing any descriptor
 * of it would drop SQLite's locks.
 * @param beside where root makes it, the owner of this file gets it
 * @throws FileError `file-forbidden`
 */
export function makePrivate(file: string, beside?: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
    const owner = beside === undefined ? undefined : statSync(beside, { throwIfNoEntry: false });
    if (owner !== undefined && process.geteuid?.() === 0) chownSync(file, owner.uid, owner.gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    if (!statSync(file).isFile())
      throw new FileError("file-forbidden", `${file} is no file.`, { fix: "Name a file for the inbox, or a new one." });
    makePrivateIfThere(file);
    for (const sidecar of SIDECARS) makePrivateIfThere(`${file}${sidecar}`);
  }
}

function makePrivateIfThere(file: string): void {
  try {
    chmodSync(file, 0o600);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EPERM")
      throw new FileError("file-forbidden", `${file} is another user's: ${message}.`, { fix: PERMIT });
    if (code !== "ENOENT") throw error;
  }
}
