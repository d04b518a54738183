import type { ThreadClient, ThreadEvents } from "../client/thread-client.ts";
import { createCounters } from "../thread/counters.ts";
import { toLookError } from "./read-only.ts";
import type { ThreadOptions } from "../client/messages.ts";
import { openToLook } from "./open-read-only.ts";
import { createOperations } from "../thread/operations.ts";

/**
 * The way to a file for one who only looks: on the caller's own thread, read-only, so that nothing is made or brought up to date, and no
 * commit of a receiver waits. Others' commits are not told of.
 */
export async function openToRead({ file, dedupeWindowMs }: ThreadOptions, events: ThreadEvents): Promise<ThreadClient> {
  const { db, assertUnchanged } = openToLook(file, 5_000);
  const counters = createCounters(db);
  const operations = createOperations(db, { counters, dedupeWindowMs });
  events.counted(counters.counts());
  const close = (): void => db.close();
  return {
    fileId: undefined,
    async run({ tasks, bytes }) {
      try {
        db.exec("BEGIN");
        counters.begin();
        const results = tasks.map(({ verb, input }) => ({
          value: (operations[verb] as (input: unknown, bytes: Uint8Array) => unknown)(input, bytes),
        }));
        assertUnchanged();
        return results;
      } catch (error) {
        throw toLookError(error, file);
      } finally {
        if (db.isTransaction) db.exec("ROLLBACK");
      }
    },
    unref() {},
    close: async () => close(),
    abandon: close,
  };
}
