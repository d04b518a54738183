import { chmodSync, closeSync, openSync, statSync } from "node:fs";
import { FileError } from "./file-errors.ts";

/** SQLite gives its sidecar files the mode that the file has when they are made. */
const SIDECARS = ["-wal", "-shm", "-journal"] as const;

/**
 * A file for its owner alone, whatever the umask is: mail is in it. One that is there is never opened here, because closing any descriptor
 * of it would drop SQLite's locks.
 * @throws FileError `file-forbidden`
 */
export function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    if (!statSync(file).isFile())
      throw new FileError("file-forbidden", `${file} is no file.`, { fix: "Name a file for the inbox, or a new one." });
    chmodSync(file, 0o600);
    for (const sidecar of SIDECARS) makePrivateIfThere(`${file}${sidecar}`);
  }
}

function makePrivateIfThere(file: string): void {
  try {
    chmodSync(file, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
