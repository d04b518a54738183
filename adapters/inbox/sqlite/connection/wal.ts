import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import type { Logger } from "../../../../src/adapter.ts";
import { CODE, primaryCode } from "./file-errors.ts";

/** Keeps the write-ahead log short, on the thread that owns the file. SQLite itself checkpoints it within a commit now and then. */
export interface Wal {
  /** Something was committed. @param now milliseconds by a monotonic clock */
  committed(now: number): void;
  /**
   * A commit found no room on the disk: what the log holds is given back, as far as it goes into the file. Where that takes room itself it is
   * tried again with each look, and after the first commit that finds some: what becomes free is for the file, before the log takes it.
   */
  full(now: number): void;
  /** Between commits, every so often: does what is due. */
  look(now: number): void;
  /** Writes all of it back, so that the file stands alone; as far as others let it. */
  close(): void;
}

/** SQLite checkpoints the log within the commit with which it has so many pages, which have 8 KiB each. */
export const CHECKPOINT_PAGES = 4_000;

/** From here on the log is cut off, and SQLite cuts it to this when it restarts the log. */
export const MAX_WAL_BYTES = 64 * 1024 * 1024;

/** Nothing was committed for so long: there is time. */
const IDLE_MS = 1_000;
const LOOK_EVERY_MS = 1_000;
/** Others' reads may go on for so long before the log is left as it is until the next look; commits wait meanwhile. */
const PATIENCE_MS = 10;

export function createWal(db: Pick<DatabaseSync, "exec" | "prepare">, file: string): Wal {
  let committedAt: number | undefined;
  let lookedAt = 0;
  let fullAt = -Infinity;
  let isOwed = false;

  const cut = (): boolean => unlessFull(() => cutWal(db, PATIENCE_MS));

  return {
    committed(now) {
      committedAt = now;
      if (isOwed) isOwed = !cut();
    },
    full(now) {
      if (now - fullAt < LOOK_EVERY_MS) return;
      fullAt = now;
      isOwed = !cut();
    },
    look(now) {
      if (committedAt !== undefined && now - committedAt >= IDLE_MS) {
        unlessFull(() => db.prepare("PRAGMA wal_checkpoint(PASSIVE)").get());
        committedAt = undefined;
      }
      if (now - lookedAt < LOOK_EVERY_MS) return;
      lookedAt = now;
      if (isOwed || walBytes(file) > MAX_WAL_BYTES) isOwed = !cut();
    },
    close: () => void cut(),
  };
}

/** How long the log of a file is; 0 where there is none. */
export function walBytes(file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/** @returns whether there was room */
function unlessFull(write: () => unknown): boolean {
  try {
    write();
    return true;
  } catch (error) {
    // On a full disk all of it stays in the log. Any other error is the file's: the thread ends with it, and the file is reopened.
    if (primaryCode(error) !== CODE.full) throw error;
    return false;
  }
}

/**
 * Writes all of the write-ahead log into the file and cuts it off. Outside of any transaction.
 * @param patienceMs for how long others who read the log may hold that up; commits wait meanwhile
 * @returns whether it is cut off
 */
export function cutWal(db: Pick<DatabaseSync, "exec" | "prepare">, patienceMs: number): boolean {
  const usual = Number(db.prepare("PRAGMA busy_timeout").get()?.["timeout"]);
  db.exec(`PRAGMA busy_timeout = ${patienceMs}`);
  try {
    return db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.["busy"] === 0;
  } finally {
    db.exec(`PRAGMA busy_timeout = ${usual}`);
  }
}

/** A log this long means that checkpoints are blocked. */
const TOO_LONG_BYTES = 1024 * 1024 * 1024;

/** Checks the length of a write-ahead log, and warns once when it is too long. */
export function createWalWatch(fileOf: () => string, log: () => Logger): () => void {
  let isTold = false;
  return () => {
    const file = fileOf();
    const bytes = walBytes(file);
    const isLong = bytes > TOO_LONG_BYTES;
    if (isLong && !isTold)
      log().warn(
        { code: "wal-long", file: `${file}-wal`, bytes },
        "the write-ahead log of the inbox grows: a long-running reader blocks WAL checkpoints; find and close it",
      );
    isTold = isLong;
  };
}
