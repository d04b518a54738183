import { resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../../src/adapter.ts";
import { makePrivate } from "./make-private.ts";

/** The place of the one process that works on a file. */
export interface WorkerPlace {
  /** Whether it is had at once; else `later` is called when it is. */
  ask(later: () => void): boolean;
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
export function createWorkerPlace(file: string, clock: Clock): WorkerPlace {
  const path = resolve(`${file}-lock`);
  let db: DatabaseSync | undefined;
  let timer: { clear(): void } | undefined;

  function attempt(): boolean {
    if (db === undefined && here.has(path)) return false;
    if (db?.isTransaction === true) return true;
    db ??= open(path);
    here.add(path);
    try {
      db.exec("BEGIN EXCLUSIVE");
      return true;
    } catch (error) {
      if ((error as { errcode?: number }).errcode === 5) return false;
      throw error;
    }
  }

  function probe(later: () => void): void {
    timer = clock.setTimer(() => (attempt() ? later() : probe(later)), PROBE_MS);
  }

  return {
    ask(later) {
      const had = attempt();
      if (!had) probe(later);
      return had;
    },
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
