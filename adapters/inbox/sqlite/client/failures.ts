import type { StorageError } from "../../../../src/adapter.ts";

/** What has gone wrong with a file since a commit last held. */
export interface Failures {
  /** The file is not to be had any more, or still not. @returns when to try again, milliseconds */
  add(error: StorageError, now: number): number;
  /** A commit found no room, and changed nothing. */
  full(error: StorageError, now: number): void;
  /** A commit that changes something has held. */
  succeeded(): void;
  /** Nothing has gone wrong. */
  readonly none: boolean;
  /** The file was damaged: all of it is to be looked at. */
  readonly isSuspect: boolean;
  /** Threads end as soon as they have begun: only another process can help. */
  readonly isHopeless: boolean;
  /** Why the last commit found no room, if that was lately. */
  shortage(now: number): StorageError | undefined;
  /** How often the file was opened anew, and when last; undefined where it never was. */
  readonly reopened: { readonly count: number; readonly lastAt: number } | undefined;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** Nobody mends a damaged file within a second, and looking at all of it takes its time. */
const DAMAGED = { firstMs: 60_000, longestMs: 10 * 60_000 } as const;
/** So many threads in a row that ended are not by chance. */
const HOPELESS = 10;
/** A disk that was full is told for so long, where nothing shows that it is not any more. */
const FULL_MS = 30_000;

export function createFailures(): Failures {
  let streak = 0;
  let threads = 0;
  let isSuspect = false;
  let shortage: { readonly error: StorageError; readonly at: number } | undefined;
  let reopened: Failures["reopened"];

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
    get none() {
      return streak === 0 && shortage === undefined;
    },
    get isSuspect() {
      return isSuspect;
    },
    get isHopeless() {
      return threads >= HOPELESS;
    },
    shortage: (now) => (shortage !== undefined && now - shortage.at < FULL_MS ? shortage.error : undefined),
    get reopened() {
      return reopened;
    },
  };
}

const THREADS: ReadonlySet<string> = new Set(["thread-lost", "thread-hung"]);
