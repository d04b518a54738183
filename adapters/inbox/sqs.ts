import { SendMessageBatchCommand } from "@aws-sdk/client-sqs";
import { assertOptions, kindOf } from "../../src/adapter.ts";
import { UsageError, type Inbox, type Receiver, type StoredDelivery } from "../../src/index.ts";
import { createConsume, type ConsumerOptions } from "./queues/consume.ts";
import { assertGroupBy, groupKeyOf, type GroupBy } from "./queues/group-key.ts";
import { assertQueue, createQueueInbox } from "./queues/queue-inbox.ts";

export type { ConsumerOptions, GroupBy };

/** An `SQSClient`. */
export interface SqsClientLike {
  /** Sends the command that it is given, of `@aws-sdk/client-sqs`. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the client's overloads fit nothing narrower
  send(command: any): Promise<any>;
}

/** Options of {@link sqsInbox}. */
export interface SqsInboxOptions {
  /** A URL that ends with ".fifo" is one of a FIFO queue. */
  queueUrl: string;
  /** What keeps its order in a FIFO queue, and what gets its fair share of another one. @default "account" on a FIFO queue, else none */
  group?: GroupBy | undefined;
}

/** What AWS Lambda calls a function with for an SQS queue. */
export interface SqsEventLike {
  readonly Records: readonly {
    readonly messageId: string;
    readonly body: string;
    readonly attributes?: {
      readonly MessageGroupId?: string | undefined;
      /** Of FIFO queues alone. */
      readonly SequenceNumber?: string | undefined;
    };
  }[];
}

/** What says which messages come again, where the event source mapping has `ReportBatchItemFailures`. */
export interface SqsBatchResponse {
  batchItemFailures: { itemIdentifier: string }[];
}

/** @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html */
const LIMITS = { messages: 10, batchBytes: 1_048_576, messageBytes: 1_048_576 };
/** To a queue without an order. */
const BATCHES_AT_ONCE = 10;
/** Before a function's time is over its handlers are to abort. */
const RESERVE_MS = 1_000;
/** Then the answer is given, without handlers that ignore their signals: a function that times out gets all of its messages again. */
const ANSWER_MS = 500;

/**
 * Stores deliveries as messages of SQS. A body over some 780 KB is answered 413: a message holds 1 MiB. On a FIFO queue those of one
 * account are consumed in order.
 * @throws UsageError `option-invalid`
 * @example const inbox = sqsInbox(new SQSClient({}), { queueUrl: process.env.QUEUE_URL ?? "" });
 */
export function sqsInbox(client: SqsClientLike, options: SqsInboxOptions): Inbox<"network"> {
  assertQueue("sqsInbox", client, "send");
  assertOptions("sqsInbox", options, { queueUrl: true, group: true });
  const { queueUrl } = options;
  if (typeof queueUrl !== "string" || !URL.canParse(queueUrl))
    throw new UsageError(
      "option-invalid",
      `sqsInbox got queueUrl ${typeof queueUrl === "string" ? `"${queueUrl}"` : kindOf(queueUrl)}, expected the URL of a queue.`,
      { fix: "Give it the URL that SQS shows for the queue; an empty text comes from a variable that is not set." },
    );
  assertGroupBy("sqsInbox", options.group);
  const isFifo = queueUrl.endsWith(".fifo");
  const group = options.group ?? (isFifo ? "account" : undefined);

  async function send(deliveries: readonly StoredDelivery[]): Promise<readonly PromiseSettledResult<unknown>[]> {
    const answer = (await client.send(
      new SendMessageBatchCommand({
        QueueUrl: queueUrl,
        Entries: deliveries.map((delivery, place) => ({
          Id: String(place),
          MessageBody: JSON.stringify(delivery),
          ...(group === undefined ? {} : { MessageGroupId: groupKeyOf(delivery, group) }),
          ...(isFifo ? { MessageDeduplicationId: delivery.id } : {}),
        })),
      }),
    )) as BatchAnswer;
    const sent = new Set(answer.Successful?.map(({ Id }) => Id));
    return deliveries.map((_, place) => {
      const id = String(place);
      if (sent.has(id)) return { status: "fulfilled", value: undefined };
      const { Code = "no answer", Message = "" } = answer.Failed?.find(({ Id }) => Id === id) ?? {};
      return { status: "rejected", reason: new Error(`SQS did not take the message: ${Code} ${Message}`.trimEnd()) };
    });
  }

  return createQueueInbox({ limits: LIMITS, batchesAtOnce: isFifo ? 1 : BATCHES_AT_ONCE, send });
}

interface BatchAnswer {
  readonly Successful?: readonly { readonly Id?: string }[];
  readonly Failed?: readonly { readonly Id?: string; readonly Code?: string; readonly Message?: string }[];
}

/**
 * A handler of AWS Lambda for an SQS queue, whose event source mapping must have `ReportBatchItemFailures`. What fails comes again after
 * the visibility timeout, until `maxReceiveCount` of the redrive policy; behind a failed message of a FIFO queue its group waits. What has
 * not ended 500 ms before the end of the function has failed. It rejects only for an event that is not SQS's (UsageError
 * `lambda-event-unknown`).
 * @throws UsageError `option-invalid`, `accept-forwards`, `receiver-invalid`
 * @example export const handler = sqsConsumer(receiver);
 */
export function sqsConsumer(
  receiver: Receiver,
  options?: ConsumerOptions,
): (event: SqsEventLike, context?: object) => Promise<SqsBatchResponse> {
  const consume = createConsume("sqsConsumer", receiver, options);
  return async (event, context) => {
    const records = recordsOf(event);
    const { signal, over, clear } = endOf(context);
    const groups = Map.groupBy(records, ({ messageId, attributes = {} }) =>
      attributes.SequenceNumber === undefined ? messageId : attributes.MessageGroupId,
    );
    /** One after the other, beside other groups: what comes behind one that fails must not come before it. */
    async function failuresOf(group: SqsEventLike["Records"]): Promise<string[]> {
      const dead: string[] = [];
      for (const [place, { messageId, body }] of group.entries()) {
        const [consumed] = await consume([deliveryOf(body)], { signal, over });
        if (consumed!.to === "retry") return [...dead, ...group.slice(place).map((one) => one.messageId)];
        // What no retry helps has no order: nothing of its group waits for it.
        if (consumed!.to === "dead-letter") dead.push(messageId);
      }
      return dead;
    }

    const failures = await Promise.all([...groups.values()].map(failuresOf));
    clear();
    const batchItemFailures = failures.flat().map((itemIdentifier) => ({ itemIdentifier }));
    return { batchItemFailures };
  };
}

/** @throws UsageError `lambda-event-unknown`; an answer to another event would name no message, and none would come again */
function recordsOf(event: unknown): SqsEventLike["Records"] {
  const { Records: records } = (event ?? {}) as Partial<SqsEventLike>;
  const isMessage = (one: Partial<SqsEventLike["Records"][number]> | null): boolean =>
    typeof one?.messageId === "string" && typeof one.body === "string";
  if (Array.isArray(records) && records.every(isMessage)) return records as SqsEventLike["Records"];
  const keys = Object.keys(event ?? {}).slice(0, MOST_KEYS);
  throw new UsageError(
    "lambda-event-unknown",
    `sqsConsumer expects an event of SQS, whose records have messageId and body; got one with the keys (${keys.join(", ")}).`,
    { fix: "Invoke the function by an event source mapping of an SQS queue; `lambdaReceiver` takes HTTP requests." },
  );
}

const MOST_KEYS = 8;

/** What is no JSON is no delivery, which the receiver says. */
function deliveryOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/** Of the time that the function has. */
function endOf(context: { getRemainingTimeInMillis?(): number } = {}) {
  const leftMs = context.getRemainingTimeInMillis?.();
  if (leftMs === undefined) return { clear() {} };
  const before = (ms: number): number => Math.max(Math.floor(leftMs) - ms, 0);
  const { promise: over, reject } = Promise.withResolvers<never>();
  void over.catch(() => {}); // it may come between two waves
  const timer = setTimeout(() => reject(new Error("The function's time is over.")), before(ANSWER_MS));
  return { signal: AbortSignal.timeout(before(RESERVE_MS)), over, clear: () => clearTimeout(timer) };
}
