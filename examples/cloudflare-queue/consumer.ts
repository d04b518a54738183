import { isHooklineError, type Receiver, type StoredDelivery } from "hookline";
import type { QueueLike } from "./receiver.ts";

/** The used part of a batch. */
export interface Batch {
  readonly messages: readonly {
    readonly body: StoredDelivery;
    /** 1 for the first. */
    readonly attempts: number;
    ack(): void;
    retry(options: { delaySeconds: number }): void;
  }[];
}

/** With 100 retries, a delivery is tried for some 23 hours. */
const MAX_DELAY_SECONDS = 900;

/** There is no inbox in a Worker: the handlers run while the queue waits, and each message is settled by itself. */
export async function consume({ messages }: Batch, receiver: Pick<Receiver, "handle">, dead: QueueLike): Promise<void> {
  for (const message of messages) {
    const retry = (): void => message.retry({ delaySeconds: Math.min(2 ** (message.attempts - 1), MAX_DELAY_SECONDS) });
    try {
      await receiver.handle(message.body);
      message.ack();
    } catch (error) {
      if (!isHooklineError(error, "delivery-invalid")) retry();
      // A retry would not help it.
      else await dead.send(message.body, { contentType: "json" }).then(() => message.ack(), retry);
    }
  }
}
