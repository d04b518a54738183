import { StorageError } from "hookline/adapter";
import { openChannel, type Channel, type ChannelEvents } from "../../../adapters/inbox/sqlite/channel.ts";
import type { ThreadOptions } from "../../../adapters/inbox/sqlite/messages.ts";

/** What happens to one batch: its thread dies before or after its commit, or SQLite gives an error and nothing changes. */
export type Fault = "dies before" | "dies after" | { readonly errcode: number };

/** Real commit threads, of which one batch can go wrong. */
export function faultyChannels() {
  let fault: Fault | undefined;
  let opened = 0;

  async function open(options: ThreadOptions, events: ChannelEvents): Promise<Channel> {
    const channel = await openChannel(options, events);
    opened += 1;
    return {
      ...channel,
      async run(batch) {
        const now = fault;
        fault = undefined;
        if (now === undefined) return channel.run(batch);
        if (typeof now === "object") {
          const error = { code: "ERR_SQLITE_ERROR", message: "no", fix: undefined, errcode: now.errcode };
          return batch.tasks.map(() => ({ error }));
        }
        if (now === "dies after") await channel.run(batch);
        channel.abandon();
        const error = new StorageError("storage-failed", "The commit thread ended.");
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
    /** Threads until now. */
    get opened() {
      return opened;
    },
  };
}
