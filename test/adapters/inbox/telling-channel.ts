import type { Batch } from "../../../adapters/inbox/sqlite/thread/transaction.ts";
import type { Channel, openChannel } from "../../../adapters/inbox/sqlite/client/thread-client.ts";

/** Channels that tell each batch before it runs. */
export function telling(open: typeof openChannel, told: (batch: Batch) => void): typeof openChannel {
  return async (...given) => {
    const channel = await open(...given);
    const run: Channel["run"] = (batch) => {
      told(batch);
      return channel.run(batch);
    };
    return { ...channel, run };
  };
}
