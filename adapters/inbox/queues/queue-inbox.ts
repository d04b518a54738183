import { kindOf } from "../../../src/adapter.ts";
import { forwardInbox, UsageError, type Inbox, type StoredDelivery } from "../../../src/index.ts";

/** What a queue takes of deliveries as messages, which are JSON. */
interface QueueLimits {
  /** Messages at once. */
  readonly messages: number;
  /** All messages at once, together. */
  readonly batchBytes: number;
  /** One message. Infinity: whatever a receiver takes. */
  readonly messageBytes: number;
}

export interface QueueInboxOptions {
  readonly limits: QueueLimits;
  /** One after the other keeps the order. @default 1 */
  readonly batchesAtOnce?: number;
  /** Resolves when the queue has confirmed all of them, or with a settled result for each, in order. */
  readonly send: (deliveries: readonly StoredDelivery[]) => Promise<void | readonly PromiseSettledResult<unknown>[]>;
}

export const TAKEN: PromiseSettledResult<undefined> = { status: "fulfilled", value: undefined };

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
  async function sendBatch(batch: readonly StoredDelivery[]): Promise<readonly PromiseSettledResult<unknown>[]> {
    try {
      const results = await send(batch);
      return results ?? batch.map(() => TAKEN);
    } catch (reason) {
      return batch.map(() => ({ status: "rejected", reason }));
    }
  }
}

/** @throws UsageError `option-invalid` for what cannot send: each delivery would get 503 */
export function assertQueue(where: string, queue: unknown, method: string): void {
  if (typeof (queue as Readonly<Record<string, unknown>> | null | undefined)?.[method] === "function") return;
  const expected = `expected a client of the queue, with the method \`${method}\``;
  throw new UsageError("option-invalid", `${where} got ${kindOf(queue)} as its first argument, ${expected}.`);
}

/** The longest body whose message is no longer than that: a body becomes base64. */
function bodyBytesOf(messageBytes: number): number {
  return Math.floor((messageBytes - ENVELOPE_BYTES) / 4) * 3;
}

/** Of the delivery as JSON, without writing the body, which has nothing that JSON escapes. */
function messageBytesOf({ bodyBase64, ...rest }: StoredDelivery): number {
  return bodyBase64.length + Buffer.byteLength(JSON.stringify({ ...rest, bodyBase64: "" }));
}

function toBatches(
  deliveries: readonly StoredDelivery[],
  { messages: most, batchBytes }: QueueLimits,
): readonly (readonly StoredDelivery[])[] {
  const batches: StoredDelivery[][] = [];
  let bytes = Infinity;
  for (const delivery of deliveries) {
    const length = messageBytesOf(delivery);
    const last = batches.at(-1);
    const fits = last !== undefined && last.length < most && bytes + length <= batchBytes;
    if (fits) last.push(delivery);
    else batches.push([delivery]);
    bytes = fits ? bytes + length : length;
  }
  return batches;
}
