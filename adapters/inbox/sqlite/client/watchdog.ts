import type { StorageError } from "../../../../src/adapter.ts";
import type { Batch, TaskResult } from "../thread/transaction.ts";
import type { ThreadClient } from "./thread-client.ts";
import { unlessHung, type Patience } from "./unless-hung.ts";

export interface Watch extends Patience {
  /** It died or hangs: what it was doing is of unknown outcome. */
  readonly lost: (error: StorageError, channel: ThreadClient) => void;
  /** How a batch ended. */
  readonly ended: (batch: Batch, results: readonly TaskResult[]) => void;
}

/** The same channel, given up when its thread gives no answer. */
export function watchedChannel(raw: ThreadClient, { lost, ended, ...patience }: Watch): ThreadClient {
  async function unlessSilent<T>(answer: Promise<T>): Promise<T> {
    try {
      return await unlessHung(answer, patience);
    } catch (error) {
      raw.abandon();
      lost(error as StorageError, channel);
      throw error;
    }
  }

  const channel: ThreadClient = {
    ...raw,
    async run(batch) {
      const results = await unlessSilent(raw.run(batch));
      ended(batch, results);
      return results;
    },
    close: () => unlessSilent(raw.close()),
  };
  return channel;
}
