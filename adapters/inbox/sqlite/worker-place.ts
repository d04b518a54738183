import { resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Clock, InboxHost } from "../../../src/adapter.ts";
import { toTaskError } from "./batch.ts";
import { makePrivate } from "./make-private.ts";
import { CODE, primaryCode } from "./result-codes.ts";
import { toStorageError } from "./to-storage-error.ts";

/** The place of the one process that works on a file. */
export interface WorkerPlace {
  /**
   * Whether it is had at once; else `later` is called when it is.
   * @throws StorageError where the lock's file cannot be used
   */
  ask(later: () => void): boolean;
  /**
   * The same, once: nobody is told later.
   * @throws StorageError where the lock's file cannot be used
   */
  take(): boolean;
  /** Gives it up, or stops asking. */
  leave(): void;
}

/** How soon a stand-by sees that the one who worked has died. */
const PROBE_MS = 250;

/** Those that this process has: a second descriptor of one of them would drop its lock when it is closed. */
const here = new Set<string>();

/**
 * A lock that dies with its process, without pid or clock: an exclusive transaction, held open, on a tiny SQLite file beside the inbox.
 * Nothing else in the process may open that file: closing any descriptor of it drops the lock.
 */
export function createWorkerPlace(file: string, { clock, log }: Pick<InboxHost, "clock" | "log">): WorkerPlace {
  const path = resolve(`${file}-lock`);
  let db: DatabaseSync | undefined;
  let timer: ReturnType<Clock["setTimer"]> | undefined;
  let isTold = false;

  function attempt(): boolean {
    if (db === undefined && here.has(path)) return false;
    if (db?.isTransaction === true) return true;
    try {
      db ??= open(path);
      here.add(path);
      db.exec("BEGIN EXCLUSIVE");
      return true;
    } catch (error) {
      if (primaryCode(error) === CODE.busy) return false;
      throw toStorageError(toTaskError(error));
    }
  }

  /** A stand-by goes on standing by, whatever the disk says now. */
  function attemptAgain(): boolean {
    try {
      return attempt();
    } catch (error) {
      if (!isTold)
        log.error({ err: error, code: "lock-failed" }, "the worker's lock cannot be asked for: it is tried again");
      isTold = true;
      return false;
    }
  }

  function probe(later: () => void): void {
    timer = clock.setTimer(() => (attemptAgain() ? later() : probe(later)), PROBE_MS);
    timer.unref?.(); // the commit thread keeps the process while it is to stand by
  }

  return {
    ask(later) {
      const had = attempt();
      if (!had) probe(later);
      return had;
    },
    take: attempt,
    leave() {
      timer?.clear();
      if (db === undefined) return;
      db.close();
      db = undefined;
      here.delete(path);
    },
  };
}

function open(path: string): DatabaseSync {
  makePrivate(path);
  return new DatabaseSync(path, { timeout: 0 });
}
