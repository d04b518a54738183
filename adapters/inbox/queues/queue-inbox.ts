import { forwardInbox, type Inbox, type StoredDelivery } from "../../../src/index.ts";

/** A delivery as a message of a queue. */
export interface QueueMessage {
  readonly delivery: StoredDelivery;
  /** The delivery as JSON. */
  readonly text: string;
}

/** What a queue takes. */
interface QueueLimits {
  /** Messages at once. */
  readonly messages: number;
  /** The texts of all messages at once, together. */
  readonly batchBytes: number;
  /** One text. Infinity: whatever a receiver takes. */
  readonly messageBytes: number;
}

export interface QueueInboxOptions {
  readonly limits: QueueLimits;
  /** One after the other keeps the order. @default 1 */
  readonly batchesAtOnce?: number;
  /** Resolves when the queue has confirmed all of them, or with a settled result for each, in order. */
  readonly send: (messages: readonly QueueMessage[]) => Promise<void | readonly PromiseSettledResult<unknown>[]>;
}

/** What a message holds beside the body: times, `source`, signed headers, the content type. */
const ENVELOPE_BYTES = 4_096;

/** An inbox whose deliveries are messages of a queue, within its limits. */
export function createQueueInbox({ limits, batchesAtOnce = 1, send }: QueueInboxOptions): Inbox<"network"> {
  const inbox = forwardInbox(async (deliveries) => {
    const batches = toBatches(deliveries, limits);
    const results: (readonly PromiseSettledResult<unknown>[])[] = [];
    let next = 0;
    async function sendOn(): Promise<void> {
      while (next < batches.length) {
        const place = next++;
        results[place] = await sendBatch(batches[place] ?? []);
      }
    }
    await Promise.all(Array.from({ length: batchesAtOnce }, sendOn));
    return results.flat();
  });
  return Number.isFinite(limits.messageBytes) ? { ...inbox, maxBodyBytes: bodyBytesOf(limits.messageBytes) } : inbox;

  /** A batch that is rejected may be in the queue all the same: those that follow are sent, since the order is lost already. */
  async function sendBatch(messages: readonly QueueMessage[]): Promise<readonly PromiseSettledResult<unknown>[]> {
    try {
      const results = await send(messages);
      return results ?? messages.map(() => ({ status: "fulfilled", value: undefined }));
    } catch (reason) {
      return messages.map(() => ({ status: "rejected", reason }));
    }
  }
}

/** The longest body whose message is no longer than that: a body becomes base64. */
function bodyBytesOf(messageBytes: number): number {
  return Math.floor((messageBytes - ENVELOPE_BYTES) / 4) * 3;
}

function toBatches(
  deliveries: readonly StoredDelivery[],
  { messages: most, batchBytes }: QueueLimits,
): readonly (readonly QueueMessage[])[] {
  const batches: QueueMessage[][] = [];
  let bytes = Infinity;
  for (const delivery of deliveries) {
    const text = JSON.stringify(delivery);
    const length = Buffer.byteLength(text);
    const last = batches.at(-1);
    const fits = last !== undefined && last.length < most && bytes + length <= batchBytes;
    if (fits) last.push({ delivery, text });
    else batches.push([{ delivery, text }]);
    bytes = fits ? bytes + length : length;
  }
  return batches;
}
