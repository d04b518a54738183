import { assertOptions, kindOf } from "../../src/adapter.ts";
import { UsageError, type Inbox, type Receiver } from "../../src/index.ts";
import { createConsume, type ConsumerOptions } from "./queues/consume.ts";
import { assertQueue, createQueueInbox } from "./queues/queue-inbox.ts";

export type { ConsumerOptions };

/** A client of JetStream, as `jetstream(connection)` of `@nats-io/jetstream` gives it. */
export interface JetStreamLike {
  /** Resolves when the stream has it. */
  publish(subject: string, payload: string | Uint8Array, options?: { msgID?: string }): Promise<unknown>;
}

/** A `JsMsg`. */
export interface JsMsgLike {
  /** Its content, parsed. */
  json(): unknown;
  /** `deliveryCount` is 1 for the first. */
  readonly info: { readonly deliveryCount: number };
  /** Done. */
  ack(): void;
  /** To be delivered again, after so long. */
  nak(millis?: number): void;
  /** Never to be delivered again. */
  term(): void;
  /** Begins its `ack_wait` anew. */
  working(): void;
}

/** Options of {@link natsInbox}. */
export interface NatsInboxOptions {
  /** Of the stream that stores them. */
  subject: string;
}

/** Where a server says nothing: `max_payload` as installed. */
const PAYLOAD_BYTES = 1_048_576;
/** After the first failure, doubled each time. */
const RETRY_MS = { first: 1_000, most: 600_000 };
/** A third of the shortest sensible `ack_wait`, which is 30 s as installed. */
const WORKING_MS = 10_000;

/**
 * Stores deliveries as messages of a JetStream stream. A body over some 780 KB is answered 413, since a message holds the server's
 * `max_payload` of 1 MiB. An acknowledged delivery survives what the stream does: three replicas, or `sync_interval: always`.
 * @param jetstream on a connection that is open: it says how long a message may be
 * @throws UsageError `option-invalid`
 * @example const inbox = natsInbox(jetstream(await connect()), { subject: "deliveries" });
 */
export function natsInbox(jetstream: JetStreamLike, options: NatsInboxOptions): Inbox<"network"> {
  assertQueue("natsInbox", jetstream, "publish");
  assertOptions("natsInbox", options, { subject: true });
  const { subject } = options;
  if (typeof subject !== "string" || !/^[^\s.*>]+(?:\.[^\s.*>]+)*$/.test(subject))
    throw new UsageError(
      "option-invalid",
      `natsInbox got subject ${kindOf(subject)}, expected a subject without wildcards, such as "deliveries".`,
    );
  return createQueueInbox({
    limits: { messages: 500, batchBytes: Infinity, messageBytes: payloadBytesOf(jetstream) },
    // On one connection they arrive in this order; the stream confirms each.
    send: (deliveries) =>
      Promise.allSettled(
        deliveries.map((delivery) => jetstream.publish(subject, JSON.stringify(delivery), { msgID: delivery.id })),
      ),
  });
}

function payloadBytesOf(jetstream: object): number {
  const { nc } = jetstream as { readonly nc?: { readonly info?: { readonly max_payload?: number } } };
  return nc?.info?.max_payload ?? PAYLOAD_BYTES;
}

/**
 * Consumes a message of JetStream and acknowledges it; what fails comes again after 1, 2, 4 … 600 s, and what no retry helps is
 * terminated. It never rejects.
 * @throws UsageError `option-invalid`, `accept-forwards`, `receiver-invalid`
 * @example for await (const message of await consumer.consume({ max_messages: 100 })) void consume(message);
 */
export function natsConsumer(receiver: Receiver, options?: ConsumerOptions): (message: JsMsgLike) => Promise<void> {
  const consume = createConsume("natsConsumer", receiver, options);
  return async (message) => {
    const timer = setInterval(() => tell(() => message.working()), WORKING_MS);
    const [consumed] = await consume([contentOf(message)]);
    clearInterval(timer);
    tell(() => {
      if (consumed?.to === "acknowledge") message.ack();
      else if (consumed?.to === "dead-letter") message.term(); // with its reason servers before 2.10.4 do not know it
      else message.nak(Math.min(RETRY_MS.first * 2 ** (message.info.deliveryCount - 1), RETRY_MS.most));
    });
  };
}

/** On a closed connection each of these throws, and the message comes again. */
function tell(say: () => void): void {
  try {
    say();
  } catch {
    // Thrown in a timer, it would end the process.
  }
}

/** What is no JSON is no delivery, which the receiver says. */
function contentOf(message: JsMsgLike): unknown {
  try {
    return message.json();
  } catch {
    return undefined;
  }
}
