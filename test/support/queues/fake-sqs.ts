import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

// What SQS does with the calls that a producer and a Lambda event source mapping make, as its reference says:
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/Welcome.html

export interface FakeSqsOptions {
  /** The name ends with ".fifo". @default false */
  readonly fifo?: boolean;
  /** How long a message that was received is hidden, milliseconds. @default 30_000 */
  readonly visibilityMs?: number;
  /** Received more often than that, a message goes to the dead letters. @default Infinity */
  readonly maxReceiveCount?: number;
  /** Entries of a batch that are refused, though the batch is not. */
  readonly refuses?: (body: string) => boolean;
}

interface SqsMessage {
  readonly messageId: string;
  readonly body: string;
  readonly receiptHandle: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** A queue, and what it has. */
export interface FakeSqs {
  readonly endpoint: string;
  readonly queueUrl: string;
  /** Bodies of the dead letters. */
  readonly dead: readonly string[];
  /** Messages that are neither deleted nor dead. */
  readonly size: number;
  /** As another producer does. */
  put(messages: readonly { readonly body: string; readonly group: string }[]): void;
  /** The next messages, at most ten, which are then hidden; of a group nothing comes while one of it is hidden. */
  receive(): readonly SqsMessage[];
  delete(messages: readonly Pick<SqsMessage, "receiptHandle">[]): void;
  close(): Promise<void>;
}

interface Message {
  readonly id: string;
  readonly body: string;
  readonly group: string | undefined;
  readonly sequence: number;
  receives: number;
  receipt: string;
  hiddenUntil: number;
}

/** Bytes of all entries of a batch together. */
const MOST_BYTES = 1_048_576;
const MOST_ENTRIES = 10;
const DEDUPLICATION_MS = 5 * 60_000;

/** SQS over HTTP, with the JSON protocol of its client. */
export async function startFakeSqs(options: FakeSqsOptions = {}): Promise<FakeSqs> {
  const { fifo = false, visibilityMs = 30_000, maxReceiveCount = Infinity, refuses = () => false } = options;
  let messages: Message[] = [];
  const dead: string[] = [];
  const seen = new Map<string, { readonly id: string; readonly at: number }>();
  let sequence = 0;

  function put({ MessageBody: body, MessageGroupId: group, MessageDeduplicationId: key }: Entry): string {
    const before = key === undefined ? undefined : seen.get(key);
    if (fifo && before !== undefined && Date.now() - before.at < DEDUPLICATION_MS) return before.id;
    const id = randomUUID();
    if (key !== undefined) seen.set(key, { id, at: Date.now() });
    messages.push({ id, body, group, sequence: (sequence += 1), receives: 0, receipt: "", hiddenUntil: 0 });
    return id;
  }

  function sendBatch({ Entries: entries = [] }: BatchInput): object {
    if (entries.length > MOST_ENTRIES)
      throw new SqsError("AWS.SimpleQueueService.TooManyEntriesInBatchRequest", `Got ${entries.length} entries.`);
    const bytes = entries.reduce((sum, { MessageBody: body }) => sum + Buffer.byteLength(body), 0);
    if (bytes > MOST_BYTES) throw new SqsError("AWS.SimpleQueueService.BatchRequestTooLong", `Got ${bytes} bytes.`);
    if (fifo && entries.some((entry) => entry.MessageGroupId === undefined))
      throw new SqsError("MissingParameter", "The request must contain the parameter MessageGroupId.");
    const answer = { Successful: [] as object[], Failed: [] as object[] };
    for (const entry of entries)
      if (refuses(entry.MessageBody))
        answer.Failed.push({ Id: entry.Id, Code: "InternalError", Message: "Try again.", SenderFault: false });
      else
        answer.Successful.push({
          Id: entry.Id,
          MessageId: put(entry),
          MD5OfMessageBody: createHash("md5").update(entry.MessageBody).digest("hex"),
        });
    return answer;
  }

  const server = createServer((request, response) => {
    void serve(request, response, sendBatch).catch(() => response.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    endpoint,
    queueUrl: `${endpoint}/000000000000/deliveries${fifo ? ".fifo" : ""}`,
    dead,
    get size() {
      return messages.length;
    },
    put(some) {
      for (const { body, group } of some) put({ Id: "", MessageBody: body, MessageGroupId: group });
    },
    receive() {
      const now = Date.now();
      const tooOften = messages.filter(
        ({ hiddenUntil, receives }) => hiddenUntil <= now && receives >= maxReceiveCount,
      );
      dead.push(...tooOften.map(({ body }) => body));
      messages = messages.filter((message) => !tooOften.includes(message));
      const hidden = new Set(messages.flatMap(({ group, hiddenUntil }) => (hiddenUntil > now ? [group] : [])));
      const next = messages
        .filter(({ group, hiddenUntil }) => hiddenUntil <= now && !(fifo && hidden.has(group)))
        .slice(0, MOST_ENTRIES);
      return next.map((message) => {
        message.receives += 1;
        message.receipt = randomUUID();
        message.hiddenUntil = now + visibilityMs;
        return toReceived(message, fifo);
      });
    },
    delete(some) {
      const receipts = new Set(some.map(({ receiptHandle }) => receiptHandle));
      messages = messages.filter(({ receipt }) => !receipts.has(receipt));
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

interface Entry {
  readonly Id: string;
  readonly MessageBody: string;
  readonly MessageGroupId?: string;
  readonly MessageDeduplicationId?: string;
}

interface BatchInput {
  readonly Entries?: readonly Entry[];
}

class SqsError extends Error {
  readonly type: string;

  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  sendBatch: (input: BatchInput) => object,
): Promise<void> {
  let status = 200;
  let content: object;
  try {
    const target = request.headers["x-amz-target"];
    if (target !== "AmazonSQS.SendMessageBatch") throw new SqsError("InvalidAction", `No action ${String(target)}.`);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    content = sendBatch(JSON.parse(Buffer.concat(chunks).toString()) as BatchInput);
  } catch (error) {
    if (!(error instanceof SqsError)) throw error;
    status = 400;
    content = { __type: `com.amazonaws.sqs#${error.type}`, message: error.message };
  }
  response.writeHead(status, { "content-type": "application/x-amz-json-1.0" }).end(JSON.stringify(content));
}

function toReceived({ id, body, group, sequence, receives, receipt }: Message, fifo: boolean): SqsMessage {
  return {
    messageId: id,
    body,
    receiptHandle: receipt,
    attributes: {
      ApproximateReceiveCount: String(receives),
      ...(group === undefined ? {} : { MessageGroupId: group }),
      ...(fifo ? { SequenceNumber: String(sequence).padStart(20, "0") } : {}),
    },
  };
}
