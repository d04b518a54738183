import { statSync, type BigIntStats } from "node:fs";
import { stat, utimes } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { StorageError, type Clock, type InboxHost } from "../../../../src/adapter.ts";
import { toStorageError } from "../connection/to-storage-error.ts";
import { realTimer } from "../thread/watchdog.ts";
import { CODE, primaryCode } from "../connection/file-errors.ts";
import { makePrivate } from "../connection/file-mode.ts";
import { toTaskError } from "../thread/transaction.ts";

/** The lock of the one process that works on a file. */
export interface WorkerLock {
  /**
   * Whether it was acquired at once; else `later` is called when it is.
   * @throws StorageError where the lock's file cannot be used
   */
  acquire(later: () => void): boolean;
  /** Tries again after so long, and until it is acquired. */
  acquireIn(ms: number, later: () => void): void;
  /**
   * Tries once.
   * @throws StorageError where the lock's file cannot be used
   */
  tryAcquire(): boolean;
  /** For how long the process that has it has given no sign of life, milliseconds; 0 where none was ever seen. */
  silentMs(): number;
  /** Releases it, or stops trying. */
  release(): void;
}

export interface WorkerLockListener {
  /** The lock file was removed, and another process holds the new one. */
  lost(): void;
  /** A later try: another process has the lock, or why it cannot be acquired. */
  waits(error: StorageError | undefined): void;
}

/** How soon a standby sees the death of the worker, and the worker that its lock file was removed. */
const PROBE_MS = 250;
/** Between two signs of life of who has the lock: its event loop sets the time of the lock file. */
const BEAT_MS = 5_000;

/**
 * A lock that dies with its process, without pid or clock: an exclusive transaction, held open, on a tiny SQLite file beside the inbox.
 * SQLite shares the file's descriptors within a process, and keeps them until the lock ends; whatever else opens the file drops the lock
 * when it closes it.
 * @param file its real path
 * @param lost the lock file was removed, and another process holds the new one
 */
export function createWorkerLock(
  file: string,
  { clock, log }: Pick<InboxHost, "clock" | "log">,
  { lost, waits }: WorkerLockListener = { lost: () => {}, waits: () => {} },
): WorkerLock {
  const path = `${file}-lock`;
  let lock: Lock | undefined;
  let timer: ReturnType<Clock["setTimer"]> | undefined;
  let isTold = false;
  /** Another file is at its path, and another connection has the lock: perhaps only a probe, for a moment. */
  let isDoubted = false;
  let beatAt = -Infinity;
  let heard: Heard | undefined;

  function attempt(): boolean {
    try {
      lock ??= open(path, file);
      // Nothing is ever written: no journal is to lie beside it.
      if (!lock.db.isTransaction) lock.db.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
      if (idOf(path) === lock.id) return true;
    } catch (error) {
      // Also where its file has lost its name: who has the lock is still there, and moves on to the new one.
      if (primaryCode(error) === CODE.busy) return false;
      close(); // the next try is on the file that is there then
      if (primaryCode(error) !== CODE.notADatabase) throw toStorageError(toTaskError(error));
      throw new StorageError("file-corrupt", `${path} is no lock file: something has written into it.`, {
        fix: "Stop all processes on the inbox, and delete this file alone: it holds nothing.",
      });
    }
    close();
    return false;
  }

  /** A stand-by goes on standing by, whatever the disk says now. */
  function attemptAgain(): boolean | StorageError {
    try {
      const had = attempt();
      isTold = false;
      return had;
    } catch (error) {
      if (!isTold) log.error({ err: error, code: "lock-failed" }, "the worker lock cannot be acquired: retrying");
      isTold = true;
      return error as StorageError;
    }
  }

  function probeIn(ms: number, later: () => void): void {
    timer?.clear();
    timer = clock.setTimer(() => {
      const had = attemptAgain();
      heard = had === true ? undefined : listen(path, heard);
      if (had !== true) {
        waits(had === false ? undefined : had);
        return probeIn(PROBE_MS, later);
      }
      watch();
      later();
    }, ms);
    timer.unref?.(); // the commit thread keeps the process while it is to stand by
  }

  /** As long as it is had. In real time: what others do to the file is not the host's. */
  function watch(): void {
    timer = realTimer(() => void look(), PROBE_MS);
  }

  async function look(): Promise<void> {
    const mine = lock;
    const id = await idSeen(path);
    if (lock === undefined || lock !== mine) return;
    if (id === mine.id) await beat();
    if (lock !== mine) return;
    if (id === undefined || id === mine.id || moved(mine)) return watch();
    close();
    lost();
  }

  /** Where the file is another user's it cannot: then its silence says nothing. */
  async function beat(): Promise<void> {
    if (performance.now() - beatAt < BEAT_MS) return;
    beatAt = performance.now();
    await utimes(path, new Date(), new Date()).catch(() => {});
  }

  /** Moves to the file that is there now: the work goes on if its lock is free. */
  function moved(former: Lock): boolean {
    lock = undefined;
    const had = attemptAgain();
    if (had instanceof Error || (!had && !isDoubted)) {
      close();
      lock = former;
      isDoubted = had === false;
      return true;
    }
    isDoubted = false;
    former.db.close();
    if (had) log.warn({ code: "lock-replaced", file: path }, "the worker lock file was removed: a new one was made");
    return had;
  }

  function close(): void {
    lock?.db.close();
    lock = undefined;
  }

  return {
    acquire(later) {
      timer?.clear();
      const had = attempt();
      if (had) watch();
      else probeIn(PROBE_MS, later);
      return had;
    },
    acquireIn: probeIn,
    tryAcquire: attempt,
    silentMs: () => heard?.silentMs ?? 0,
    release() {
      timer?.clear();
      close();
    },
  };
}

interface Lock {
  readonly db: DatabaseSync;
  /** Of the file that it is on; no other can have it while that is open. */
  readonly id: string;
}

function open(path: string, file: string): Lock {
  makePrivate(path, file);
  const id = idOf(path); // before it is opened: where it is replaced in between, the two differ
  return { id, db: new DatabaseSync(path, { timeout: 0 }) };
}

/** What a stand-by knows of who has the lock. */
interface Heard {
  readonly beat: number | undefined;
  /** Only after a sign of life is its absence one of trouble. */
  readonly isAlive: boolean;
  readonly silentMs: number;
  readonly at: number;
}

/** In real time, of which that in which this process itself was stopped does not count. */
function listen(path: string, last: Heard | undefined): Heard {
  const at = performance.now();
  const beat = timeOf(path);
  // Whether one that was there before is recent, the wall clock says: of all that is seen later, the clock of this process.
  const isRecent = beat !== undefined && Math.abs(Date.now() - beat) <= 2 * BEAT_MS;
  if (last === undefined) return { beat, isAlive: isRecent, silentMs: 0, at };
  if (beat !== last.beat) return { beat, isAlive: true, silentMs: 0, at };
  const silentMs = last.isAlive ? last.silentMs + Math.min(at - last.at, 2 * PROBE_MS) : 0;
  return { ...last, silentMs, at };
}

function timeOf(path: string): number | undefined {
  try {
    return statSync(path).mtimeMs;
  } catch {
    return undefined; // the try to acquire it says why
  }
}

function idOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? GONE : toId(found);
}

/** The same, where the disk may take its time; undefined where it cannot be known. */
async function idSeen(path: string): Promise<string | undefined> {
  try {
    return toId(await stat(path, { bigint: true }));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? GONE : undefined;
  }
}

function toId({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

const GONE = "gone";

/**
 * Whether a process holds an exclusive transaction on this file, as the active worker of an inbox does; undefined where that is unknown.
 * SQLite keeps track of its own connections within a process: looking drops no lock that this one has.
 */
export function isLocked(path: string): boolean | undefined {
  let db: DatabaseSync | undefined;
  try {
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return false;
    db = new DatabaseSync(path, { readOnly: true, timeout: 0 });
    db.prepare("SELECT count(*) FROM sqlite_schema").get();
    return false;
  } catch (error) {
    return primaryCode(error) === CODE.busy ? true : undefined;
  } finally {
    db?.close();
  }
}
