import type { MessagePort } from "node:worker_threads";
import type { FromThread, LookMemory, ThreadOptions, ToThread } from "./thread-protocol.ts";
import { CODE, FileError, primaryCode } from "../connection/file-errors.ts";
import { openInPlace } from "../connection/replaced-file-check.ts";
import { createWal } from "../connection/wal.ts";
import type { FileCounts } from "./file-state.ts";
import { createLastLook, lookTime } from "./last-look.ts";
import { createOperations } from "./operations.ts";
import { createBatchRunner, toTaskError, type TaskResult } from "./transaction.ts";

/** How often to look for what other processes committed: while there is something to do, and at most. */
const LOOK_MS = { busy: 5, idle: 50 };

/** Opens the file and owns it: batches come in, each is one transaction, its results go out. Ends with the message `close`. */
export function serveCommits(port: MessagePort, options: ThreadOptions & LookMemory): void {
  const { file, name, dedupeWindowMs, isSuspect } = options;
  const lastLook = createLastLook(options.lookMemory);
  const say = (message: FromThread): void => port.postMessage(message);

  try {
    const opened = openInPlace(file, name, {
      isSuspect,
      converting: (converting) => say({ type: "converting", converting }),
    });
    const { db } = opened;
    const operations = createOperations(db, { dedupeWindowMs });
    const run = createBatchRunner(db, operations);
    const counts = (): FileCounts => {
      operations.begin(undefined);
      return operations.counts(false);
    };
    const wal = createWal(db, file);
    const version = db.prepare("PRAGMA data_version");
    let seen = version.get()?.["data_version"];
    let looking: ReturnType<typeof setTimeout> | undefined;
    let waitMs = LOOK_MS.idle;
    let { tombstones } = counts();

    const leave = (): void => {
      clearTimeout(looking);
      opened.leave();
      say({ type: "failed", error: toTaskError(toReplaced(file)) });
      port.close();
    };

    const look = (): void => {
      // Also where nothing is committed: every connection must close before the file is reopened.
      if (!opened.isInPlace()) return leave();
      const at = lookTime();
      const now = version.get()?.["data_version"];
      waitMs = now === seen ? Math.min(waitMs * 2, LOOK_MS.idle) : LOOK_MS.busy;
      const found = now === seen ? undefined : counts();
      if (found !== undefined) ({ tombstones } = found);
      lastLook.note(tombstones, at);
      if (found !== undefined) say({ type: "changed", counts: found });
      seen = now;
      wal.look(performance.now());
      looking = setTimeout(look, waitMs);
    };

    port.on("message", (message: ToThread) => {
      if (message.type === "close") {
        clearTimeout(looking);
        if (opened.isInPlace()) {
          wal.close();
          db.close();
        } else opened.leave();
        say({ type: "closed" });
        port.close();
        return;
      }
      const at = lookTime();
      const results = run(message.batch);
      // Behind the sync, before any answer: what was taken away meanwhile took this commit with it.
      if (!opened.isInPlace()) return leave();
      const found = operations.counts(message.batch.epoch !== undefined);
      ({ tombstones } = found);
      // One that failed may not have begun, and has seen nothing then.
      if (results.some((result) => "value" in result)) lastLook.note(tombstones, at);
      say({ type: "results", results, counts: found });
      operations.afterCommit();
      const now = performance.now();
      if (results.some(isFull)) wal.full(now);
      else wal.committed(now);
      waitMs = LOOK_MS.busy;
    });
    say({ type: "open", counts: counts(), fileId: opened.id });
    look();
  } catch (error) {
    say({ type: "failed", error: toTaskError(error) });
    port.close();
  }
}

function toReplaced(file: string): FileError {
  return new FileError("file-replaced", `${file} or its log was deleted, moved or replaced while it was in use.`, {
    fix: "Stop all processes on an inbox before its files are touched; the one that is there now is opened, or a new one made.",
  });
}

function isFull(result: TaskResult): boolean {
  return "error" in result && primaryCode(result.error) === CODE.full;
}
