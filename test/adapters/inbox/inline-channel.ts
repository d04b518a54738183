import { createBatchRunner } from "../../../adapters/inbox/sqlite/batch.ts";
import type { Channel, ChannelEvents } from "../../../adapters/inbox/sqlite/channel.ts";
import { createCounters } from "../../../adapters/inbox/sqlite/counters.ts";
import type { ThreadOptions } from "../../../adapters/inbox/sqlite/messages.ts";
import { openFile } from "../../../adapters/inbox/sqlite/open-file.ts";
import { createOperations } from "../../../adapters/inbox/sqlite/operations.ts";

/** What a commit thread does, on the test's own thread: quicker, and seen by coverage. Other processes are not looked for. */
export async function openInline(
  { file, name, dedupeWindowMs }: ThreadOptions,
  events: ChannelEvents,
): Promise<Channel> {
  const db = openFile(file, name);
  const counters = createCounters(db);
  const run = createBatchRunner(db, createOperations(db, { counters, dedupeWindowMs }), counters);
  events.counted(counters.counts());
  const close = (): void => {
    if (db.isOpen) db.close();
  };
  return {
    async run(batch) {
      const results = run(structuredClone(batch));
      events.counted(counters.counts());
      return results;
    },
    unref() {},
    close: async () => close(),
    abandon: close,
  };
}
