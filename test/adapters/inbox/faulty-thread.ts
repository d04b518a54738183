import { StorageError } from "hookline/adapter";
import {
  openThread,
  type ThreadClient,
  type ThreadEvents,
} from "../../../adapters/inbox/sqlite/thread/thread-client.ts";
import type { ThreadOptions } from "../../../adapters/inbox/sqlite/thread/thread-protocol.ts";
import type { TaskResult } from "../../../adapters/inbox/sqlite/thread/transaction.ts";

/**
 * What happens to one batch: its thread dies before or after its commit, or hangs before it and goes on when it is let go; or SQLite gives an
 * error and nothing changes. One by one: the first error says that something does not fit the tables, and what is then stored by itself
 * gets the error.
 */
export type Fault =
  | "dies before"
  | "dies after"
  | "hangs"
  | { readonly errcode: number; readonly oneByOne?: boolean | undefined };

/** SQLite's SQLITE_CONSTRAINT_NOTNULL. */
const NOT_NULL = 1_299;

/** Real commit threads, unless others are given, of which one batch can go wrong. */
export function faultyChannels(openReal: typeof openThread = openThread) {
  let fault: Fault | undefined;
  let opened = 0;
  const hanging: (() => Promise<readonly TaskResult[]>)[] = [];

  async function open(options: ThreadOptions, events: ThreadEvents): Promise<ThreadClient> {
    let hangs = false;
    const channel = await openReal(options, events);
    opened += 1;
    let givenUp: (() => void) | undefined;
    return {
      ...channel,
      // Within a system call it ends when that returns.
      abandon() {
        givenUp?.();
        if (!hangs) channel.abandon();
      },
      async run(batch) {
        const now = fault;
        fault = undefined;
        if (now === undefined) return channel.run(batch);
        if (typeof now === "object") {
          const { errcode, oneByOne = false } = now;
          if (oneByOne) fault = { errcode };
          const error = { code: "ERR_SQLITE_ERROR", message: "no", fix: undefined };
          return batch.tasks.map(() => ({ error: { ...error, errcode: oneByOne ? NOT_NULL : errcode } }));
        }
        if (now === "hangs") {
          hangs = true;
          return new Promise((_, reject) => {
            hanging.push(() => channel.run(batch));
            givenUp = () => reject(new StorageError("storage-failed", "The commit thread was given up."));
          });
        }
        if (now === "dies after") await channel.run(batch);
        channel.abandon();
        const error = new StorageError("thread-lost", "The commit thread ended.");
        events.ended(error);
        throw error;
      },
    };
  }

  return {
    open,
    /** Of the next batch. */
    next(given: Fault) {
      fault = given;
    },
    /** The system call of a thread that hangs returns: what it does then. */
    letGo: () => Promise.all(hanging.splice(0).map((goOn) => goOn())),
    /** Threads until now. */
    get opened() {
      return opened;
    },
  };
}
