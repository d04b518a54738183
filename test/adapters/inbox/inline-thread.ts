import type { DatabaseSync } from "node:sqlite";
import type { ThreadClient, ThreadEvents } from "../../../adapters/inbox/sqlite/thread/thread-client.ts";
import type { ThreadOptions } from "../../../adapters/inbox/sqlite/thread/thread-protocol.ts";
import { toStorageError } from "../../../adapters/inbox/sqlite/connection/to-storage-error.ts";
import { openFile, type OpenOptions } from "../../../adapters/inbox/sqlite/connection/open-file.ts";
import { createOperations } from "../../../adapters/inbox/sqlite/thread/operations.ts";
import { createBatchRunner, toTaskError } from "../../../adapters/inbox/sqlite/thread/transaction.ts";

export interface InlineOptions extends OpenOptions {
  /** Gets each connection, to do with it what it likes. */
  readonly opened?: (db: DatabaseSync) => void;
}

/** What a commit thread does, on the test's own thread: quicker, and seen by coverage. Other processes are not looked for. */
export async function openInline(
  { file, name, dedupeWindowMs, isSuspect }: ThreadOptions,
  events: ThreadEvents,
  { opened, ...how }: InlineOptions = {},
): Promise<ThreadClient> {
  const db = openOrTell(() => openFile(file, name, { isSuspect, ...how }));
  opened?.(db);
  const operations = createOperations(db, { dedupeWindowMs });
  const run = createBatchRunner(db, operations);
  events.counted(operations.counts(false));
  const close = (): void => {
    if (db.isOpen) db.close();
  };
  return {
    fileId: file,
    lastLook: () => ({ tombstones: operations.tombstones()[0], agoMs: 0 }),
    async run(batch) {
      const results = run(structuredClone(batch));
      operations.afterCommit();
      events.counted(operations.counts(batch.epoch !== undefined));
      return results;
    },
    unref() {},
    close: async () => close(),
    abandon: close,
  };
}

/** A thread's errors come out as the errors of an inbox. */
function openOrTell(open: () => DatabaseSync): DatabaseSync {
  try {
    return open();
  } catch (error) {
    throw toStorageError(toTaskError(error));
  }
}
