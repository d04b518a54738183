import type { openThread, ThreadClient } from "../../../adapters/inbox/sqlite/thread/thread-client.ts";
import type { Batch } from "../../../adapters/inbox/sqlite/thread/transaction.ts";

/** Channels that tell each batch before it runs. */
export function telling(open: typeof openThread, told: (batch: Batch) => void): typeof openThread {
  return async (...given) => {
    const channel = await open(...given);
    const run: ThreadClient["run"] = (batch) => {
      told(batch);
      return channel.run(batch);
    };
    return { ...channel, run };
  };
}
