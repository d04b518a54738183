import type { StorageError } from "../../../../src/adapter.ts";

/** Failures of a file since its last successful commit. */
export interface ReopenBackoff {
  /** The file was lost, or could not be reopened. @returns delay until the next try, milliseconds */
  add(error: StorageError, now: number): number;
  /** A commit failed because the disk is full, and changed nothing. */
  full(error: StorageError, now: number): void;
  /** A commit that writes has succeeded. */
  succeeded(): void;
  /** The file was damaged: it needs a full check. */
  readonly isSuspect: boolean;
  /** Threads end as soon as they have begun: only another process can help. */
  readonly isHopeless: boolean;
  /** The error of the last commit that found the disk full, if that was recently. */
  shortage(now: number): StorageError | undefined;
  /** How often the file was reopened, and when last; undefined if never. */
  readonly reopened: { readonly count: number; readonly lastAt: number } | undefined;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** A damaged file is not repaired within a second, and a full check takes long. */
const DAMAGED = { firstMs: 60_000, longestMs: 10 * 60_000 } as const;
/** After so many lost threads in a row only another process can help. */
const HOPELESS = 10;
/** How long a full disk is reported without a successful commit. */
const FULL_MS = 30_000;

export function createReopenBackoff(): ReopenBackoff {
  let streak = 0;
  let threads = 0;
  let isSuspect = false;
  let shortage: { readonly error: StorageError; readonly at: number } | undefined;
  let reopened: ReopenBackoff["reopened"];

  function pauseAfter(code: string): number {
    if (code === "file-corrupt") return grown(DAMAGED.firstMs, DAMAGED.longestMs);
    if (threads >= HOPELESS) return DAMAGED.longestMs; // each may leave one behind that hangs
    return threads === 1 && streak === 1 ? 0 : grown(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  }

  function grown(firstMs: number, longestMs: number): number {
    return Math.min(firstMs * 2 ** (streak - 1), longestMs);
  }

  return {
    add({ code }, now) {
      streak += 1;
      if (THREADS.has(code)) threads += 1;
      if (code === "file-corrupt") isSuspect = true;
      reopened = { count: (reopened?.count ?? 0) + 1, lastAt: now };
      return pauseAfter(code);
    },
    full(error, at) {
      shortage = { error, at };
    },
    succeeded() {
      [streak, threads, isSuspect, shortage] = [0, 0, false, undefined];
    },
    get isSuspect() {
      return isSuspect;
    },
    get isHopeless() {
      return threads >= HOPELESS;
    },
    // A clock that went back says nothing of how long ago it was: the next commit does.
    shortage: (now) => (shortage !== undefined && Math.abs(now - shortage.at) < FULL_MS ? shortage.error : undefined),
    get reopened() {
      return reopened;
    },
  };
}

const THREADS: ReadonlySet<string> = new Set(["thread-lost", "thread-hung"]);
