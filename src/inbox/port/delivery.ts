import { UsageError } from "../../errors.ts";
import type { SingleEvent } from "../../protocol/events.ts";

/** One stored delivery as plain JSON: fits any queue, and can be verified again. */
export interface StoredDelivery {
  /** Given by the inbox, or a UUID where a queue keeps it. */
  readonly id: string;
  /** When its bytes were here, ISO 8601. */
  readonly receivedAt: string;
  /** The signed timestamp, ISO 8601. */
  readonly sentAt: string;
  /** As the mount set it. */
  readonly source?: string;
  /** The name of the secret that matched. */
  readonly signedBy: string;
  /** Lower-case names: the signed ones, and the content type. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body, byte for byte. */
  readonly bodyBase64: string;
}

/** A delivery inside: verified, with the bytes as they arrived. */
export interface Delivery {
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  /** Milliseconds since the epoch. */
  readonly sentAt: number;
  readonly source: string | undefined;
  readonly signedBy: string;
  /** The signature as it was verified: what idempotency keys are made from. */
  readonly signature: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** A delivery that was stored somewhere. */
export type IdentifiedDelivery = Delivery & { readonly id: string };

/** A delivery as plain JSON, of which nothing is shared. */
export function toStored(id: string, delivery: Delivery): StoredDelivery {
  return {
    id,
    receivedAt: new Date(delivery.receivedAt).toISOString(),
    sentAt: new Date(delivery.sentAt).toISOString(),
    ...(delivery.source === undefined ? {} : { source: delivery.source }),
    signedBy: delivery.signedBy,
    headers: { ...delivery.headers },
    bodyBase64: Buffer.from(delivery.body.buffer, delivery.body.byteOffset, delivery.body.byteLength).toString(
      "base64",
    ),
  };
}

/**
 * The way back, for `receiver.handle`.
 * @param signatureHeader in lower case
 * @throws UsageError `delivery-invalid`
 */
export function fromStored(stored: StoredDelivery, signatureHeader: string): IdentifiedDelivery {
  const receivedAt = Date.parse(stored?.receivedAt);
  const sentAt = Date.parse(stored?.sentAt);
  const signature = stored?.headers?.[signatureHeader];
  if (
    typeof stored?.id !== "string" ||
    typeof stored.bodyBase64 !== "string" ||
    signature === undefined ||
    !(receivedAt + sentAt > 0)
  ) {
    throw new UsageError("delivery-invalid", "handle() got something that is no stored delivery.", {
      fix: "Give it what `forwardInbox` handed to your queue, as it was.",
    });
  }
  const { id, source, signedBy, headers } = stored;
  return {
    id,
    receivedAt,
    sentAt,
    source,
    signedBy,
    headers,
    signature,
    body: Buffer.from(stored.bodyBase64, "base64"),
  };
}

/** A delivery to keep, with its events if this process works. */
export interface NewDelivery {
  readonly delivery: Delivery;
  /** Undefined: keep it unexpanded. */
  readonly events: readonly NewEvent[] | undefined;
}

/** One event of a delivery with a job for each of its consumers. */
export interface NewEvent {
  /** Its place in the delivery, from 0. */
  readonly entry: number;
  /** May be held for the run to come; an inbox that does not hold it gives the delivery at the claim. */
  readonly event: SingleEvent;
  /** An event with this key that was seen within the window makes no job, unless its content differs. */
  readonly unique: { readonly key: string; readonly content: string } | undefined;
  readonly jobs: readonly NewJob[];
}

/** A job to make: for one consumer, or for none. */
export interface NewJob {
  /** `skipped` and `unhandled` have no consumer and hold no lane. */
  readonly state: "waiting" | "skipped" | "unhandled";
  readonly consumer: string | undefined;
  /** Undefined: nothing keeps it waiting but itself. */
  readonly lane: string | undefined;
  /** Undefined: never merged. */
  readonly mergeKey: string | undefined;
}

export interface StoreResult extends Expanded {
  readonly id: string;
  /** False: it waits for `expand`. */
  readonly expanded: boolean;
}

/** What became of the events, by their index in the array that was given. */
export interface Expanded {
  /** Seen before with the same content: no job was made. */
  readonly duplicates: readonly number[];
  /** Seen before with other content: jobs were made. */
  readonly conflicts: readonly number[];
}

/** A delivery that waits to be expanded, wholly or from an entry on. */
export interface Unexpanded {
  readonly id: string;
  readonly delivery: Delivery;
  /** The entry to go on with. */
  readonly cursor: number;
}

/** The next events of a delivery that was stored before. */
export interface Expansion {
  readonly id: string;
  readonly events: readonly NewEvent[];
  /** Where to go on next time; undefined when the delivery is wholly expanded. */
  readonly cursor: number | undefined;
}
