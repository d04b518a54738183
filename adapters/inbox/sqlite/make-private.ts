import { chmodSync, closeSync, openSync } from "node:fs";

/**
 * A file for its owner alone: mail is in it. SQLite gives its sidecar files the mode of the file. One that is there is never opened here,
 * because closing any descriptor of it would drop SQLite's locks.
 */
export function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    chmodSync(file, 0o600);
  }
}
