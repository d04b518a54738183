import type { Producer } from "@platformatic/kafka";
import type { StoredDelivery } from "hookline";

export const TOPIC = "deliveries";

/** As JSON of a message: base64 is a third longer. With what is beside the body it stays below the 1,000,000 bytes of a chunk. */
export const MAX_BODY_BYTES = 700_000;

/** Messages of a partition are written as one batch: `max.message.bytes` of a topic is 1,048,588 as installed, and that of a batch. */
const CHUNK_BYTES = 1_000_000;

interface Chunk {
  readonly messages: { readonly topic: string; readonly key: string; readonly value: string }[];
  bytes: number;
}

/** What `forwardInbox` calls: one result for each delivery, in order. A failed chunk is answered 503, those written before it 200. */
export function storeIn(producer: Pick<Producer<string, string, string, string>, "send">) {
  return async (deliveries: readonly StoredDelivery[]): Promise<PromiseSettledResult<unknown>[]> => {
    const results: PromiseSettledResult<unknown>[] = [];
    for (const { messages } of toChunks(deliveries)) {
      const [result] = await Promise.allSettled([producer.send({ messages })]);
      results.push(...messages.map(() => result));
    }
    return results;
  };
}

function toChunks(deliveries: readonly StoredDelivery[]): readonly Chunk[] {
  const chunks: Chunk[] = [];
  for (const delivery of deliveries) {
    const message = { topic: TOPIC, key: accountOf(delivery), value: JSON.stringify(delivery) };
    const bytes = Buffer.byteLength(message.value);
    const last = chunks.at(-1);
    if (last !== undefined && last.bytes + bytes <= CHUNK_BYTES) {
      last.messages.push(message);
      last.bytes += bytes;
    } else chunks.push({ messages: [message], bytes });
  }
  return chunks;
}

/** Messages of one key are in one partition, which keeps their order. */
function accountOf({ bodyBase64 }: StoredDelivery): string {
  try {
    const { accountId } = JSON.parse(Buffer.from(bodyBase64, "base64").toString()) as { accountId?: number };
    return String(accountId ?? "none");
  } catch {
    return "none";
  }
}
