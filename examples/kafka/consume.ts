import { setTimeout as wait } from "node:timers/promises";
import type { CommitOptionsPartition, Message, MessagesStream } from "@platformatic/kafka";
import { isHooklineError, type Receiver, type StoredDelivery } from "hookline";

type DeliveryMessage = Message<string, string, string, string>;

export interface Consuming {
  /** Its inbox is where a delivery is safe. */
  readonly receiver: Pick<Receiver, "accept">;
  /** Resolves when the message is in the topic of dead letters. */
  putAside(message: DeliveryMessage, error: unknown): Promise<unknown>;
  commit(offsets: CommitOptionsPartition[]): Promise<unknown>;
  /** Ends it after the batch that it works on. */
  readonly signal: AbortSignal;
}

const BATCH = 500;
const RETRY_MS = 1_000;

/** Goes through a consumer's messages until the signal. An offset is committed when all below it are accepted or put aside. */
export async function consume(
  stream: MessagesStream<string, string, string, string>,
  consuming: Consuming,
): Promise<void> {
  const { signal } = consuming;
  if (signal.aborted) return;
  signal.addEventListener("abort", () => void stream.close(), { once: true });
  let batch: DeliveryMessage[] = [];
  for await (const message of stream) {
    if (signal.aborted) return;
    batch.push(message);
    if (batch.length < BATCH && stream.readableLength > 0) continue;
    await settle(batch, consuming);
    batch = [];
  }
}

/** Nothing behind a message that has to be tried again is skipped: while the storage is down, all of this consumer's partitions wait. */
async function settle(batch: readonly DeliveryMessage[], consuming: Consuming): Promise<void> {
  const { receiver, commit, signal } = consuming;
  const waiting = new Set(batch);
  while (waiting.size > 0 && !signal.aborted) {
    const messages = [...waiting];
    const results = await receiver.accept(messages.map(({ value }) => parse(value)));
    for (const [place, result] of results.entries()) {
      const message = messages[place]!;
      if (result.status === "fulfilled" || (await isPutAside(message, result.reason, consuming)))
        waiting.delete(message);
    }
    const offsets = offsetsBelow(batch, waiting);
    // What is not committed comes again, and is stored once.
    if (offsets.length > 0) await commit(offsets).catch(console.error);
    if (waiting.size > 0) await wait(RETRY_MS, undefined, { signal }).catch(() => {});
  }
}

/** Only what no retry helps is put aside. */
async function isPutAside(message: DeliveryMessage, error: unknown, { putAside }: Consuming): Promise<boolean> {
  if (!isHooklineError(error, "signature-invalid") && !isHooklineError(error, "delivery-invalid")) return false;
  try {
    await putAside(message, error);
    return true;
  } catch (failure) {
    console.error(failure);
    return false;
  }
}

/** For each partition: that of its oldest message that waits, or the one after its last. */
function offsetsBelow(
  batch: readonly DeliveryMessage[],
  waiting: ReadonlySet<DeliveryMessage>,
): CommitOptionsPartition[] {
  return [...Map.groupBy(batch, ({ partition }) => partition).values()].flatMap((messages) => {
    const oldest = messages.findIndex((message) => waiting.has(message));
    const last = messages.at(oldest === -1 ? -1 : oldest - 1);
    if (oldest === 0 || last === undefined) return [];
    const { topic, partition, offset, leaderEpoch } = last;
    return [{ topic, partition, offset: offset + 1n, leaderEpoch }];
  });
}

/** What is no JSON is no delivery, which `accept` says. */
function parse(value: string): StoredDelivery {
  try {
    return JSON.parse(value) as StoredDelivery;
  } catch {
    return undefined as never;
  }
}
