import { rmSync, statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { openFile, type OpenOptions } from "./open-file.ts";
import { cutWal } from "./wal.ts";

/** A file that is open, and whether it still stands at its path. */
export interface OpenFile {
  readonly db: DatabaseSync;
  /** By device and inode; undefined where a file has another number at each look, so that a replacement cannot be seen. */
  readonly id: string | undefined;
  /** Whether what is committed goes into the file and the log that are found by their path, and is seen by all who open them. */
  isInPlace(): boolean;
  /**
   * Closes one that was deleted, moved or replaced. What its log holds goes into the file that it belongs to, wherever that is now; it does
   * not stay beside another, which would take it for its own.
   */
  leave(): void;
}

/** The number of what is found at a path: changes with the file, not with what is in it. */
type IdOf = (path: string) => string | undefined;

/** So often the file at the path is another one than a moment before, until its numbers are not believed. */
const TRIES = 3;
/** So long others who read may hold up that what the log holds is written back. */
const PATIENCE_MS = 200;

/** Opens a file and notes which it is. Only looks at paths: a descriptor of the file would drop SQLite's locks when it is closed. */
export function openInPlace(
  file: string,
  name: string,
  { idOf = inodeOf, ...options }: OpenOptions & { readonly idOf?: IdOf | undefined } = {},
): OpenFile {
  const [wal, shm] = [`${file}-wal`, `${file}-shm`];
  let found: string | undefined;
  for (let left = TRIES; ; left -= 1) {
    const db = openFile(file, name, { ...options, found: () => (found = idOf(file)) });
    const [id, walId, shmId] = [idOf(file), idOf(wal), idOf(shm)];
    // While it is open no other file gets its number: the same before and after is that of what was opened.
    const isKnown = id === found && walId !== undefined && walId === idOf(wal) && shmId === idOf(shm);
    if (!isKnown && left > 1) {
      db.close();
      continue;
    }
    return {
      db,
      id: isKnown ? id : undefined,
      // One process with an index of the log of its own and another without would write over each other's commits.
      isInPlace: () => !isKnown || (idOf(file) === id && idOf(wal) === walId && idOf(shm) === shmId),
      leave() {
        // Another log there may be in use with the index of ours, or ours with another index: then it is left to them. One that is gone goes
        // with the last of its users, and what it held into the file that is still there.
        const isAlone = [undefined, shmId].includes(idOf(shm));
        const isGone = idOf(wal) === undefined && idOf(file) === id;
        if (isAlone && (isGone || idOf(wal) === walId)) cutIfPossible(db);
        if (idOf(file) !== id && idOf(wal) === walId) rmSync(wal, { force: true });
        // An index without its log, or of another file's, would be believed by whoever opens the file next.
        if ((idOf(file) !== id || isGone) && shmId !== undefined && idOf(shm) === shmId) rmSync(shm, { force: true });
        db.close();
      },
    };
  }
}

function inodeOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}

function cutIfPossible(db: DatabaseSync): void {
  try {
    cutWal(db, PATIENCE_MS);
  } catch {
    // What it holds was acknowledged by commits before, and is lost with the removed file.
  }
}
