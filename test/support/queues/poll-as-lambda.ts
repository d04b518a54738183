import type { SqsBatchResponse, SqsEventLike } from "hookline/sqs";
import { setTimeout as later } from "node:timers/promises";
import type { FakeSqs } from "./fake-sqs.ts";

/** Pollers of an event source mapping. */
const POLLERS = 5;

/**
 * Does what an event source mapping of AWS Lambda with `ReportBatchItemFailures` does: it calls the function with what the queue has, and
 * deletes what the function did not report.
 */
export async function pollAsLambda(
  sqs: FakeSqs,
  invoke: (event: SqsEventLike) => Promise<SqsBatchResponse>,
  signal: AbortSignal,
): Promise<void> {
  async function pollOnce(): Promise<boolean> {
    const records = sqs.receive();
    if (records.length === 0) return false;
    try {
      const { batchItemFailures } = await invoke({ Records: records });
      const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
      sqs.delete(records.filter(({ messageId }) => !failed.has(messageId)));
    } catch {
      // The function ended: its messages come again.
    }
    return true;
  }

  while (!signal.aborted) {
    const found = await Promise.all(Array.from({ length: POLLERS }, pollOnce));
    await later(found.includes(true) ? 0 : 20);
  }
}
