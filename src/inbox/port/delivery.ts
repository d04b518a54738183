import { isSource, kindOf, kindOfSource } from "../../assert.ts";
import { UsageError } from "../../errors.ts";
import type { SingleEvent } from "../../protocol/event-types.ts";

/** One stored delivery as plain JSON: fits any queue, and can be verified again. */
export interface StoredDelivery {
  /** Assigned by the inbox, or a UUID for a queue. */
  readonly id: string;
  /** When its body was complete, ISO 8601. */
  readonly receivedAt: string;
  /** The signed timestamp, ISO 8601. */
  readonly sentAt: string;
  /** Set by the mount. */
  readonly source?: string;
  /** The name of the secret that matched. */
  readonly signedBy: string;
  /** Lower-case names: the signed ones, and the content type. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body, byte for byte. */
  readonly bodyBase64: string;
}

/** A verified delivery, with the bytes as they arrived. */
export interface Delivery {
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  /** Milliseconds since the epoch. */
  readonly sentAt: number;
  readonly source: string | undefined;
  readonly signedBy: string;
  /** The verified signature: idempotency keys are derived from it. */
  readonly signature: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** A stored delivery. */
export type IdentifiedDelivery = Delivery & { readonly id: string };

/** A delivery as plain JSON; shares no memory with it. */
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
 * The reverse of {@link toStored}.
 * @param signatureHeader in lower case
 * @param caller the method that got it
 * @throws UsageError `delivery-invalid`
 */
export function fromStored(
  stored: StoredDelivery,
  signatureHeader: string,
  caller: "handle" | "accept",
): IdentifiedDelivery {
  const receivedAt = Date.parse(stored?.receivedAt);
  const sentAt = Date.parse(stored?.sentAt);
  const signature = stored?.headers?.[signatureHeader];
  if (
    typeof stored?.id !== "string" ||
    typeof stored.bodyBase64 !== "string" ||
    typeof signature !== "string" ||
    !(receivedAt + sentAt > 0)
  ) {
    const lacks = [
      ...(typeof stored?.id === "string" ? [] : ["id"]),
      ...(receivedAt > 0 ? [] : ["receivedAt"]),
      ...(sentAt > 0 ? [] : ["sentAt"]),
      ...(typeof stored?.bodyBase64 === "string" ? [] : ["bodyBase64"]),
      ...(typeof signature === "string" ? [] : [`headers["${signatureHeader}"]`]),
    ];
    throw new UsageError(
      "delivery-invalid",
      `${caller}() got ${kindOf(stored)}, which is not a stored delivery: it has no valid ${lacks.join(", ")}.`,
      { fix: "Pass it what `forwardInbox` handed to your queue, unchanged." },
    );
  }
  const { id, signedBy, headers } = stored;
  const source = stored.source ?? undefined; // a queue may write null for what is not there
  if (!isSource(source))
    throw new UsageError(
      "delivery-invalid",
      `${caller}() got a stored delivery with ${kindOfSource(source)} as its \`source\`, expected a text of whole characters.`,
      { fix: "Pass it what `forwardInbox` handed to your queue, unchanged." },
    );
  return {
    id,
    receivedAt,
    sentAt,
    // Some queues make null of what is not there.
    source: source ?? undefined,
    signedBy,
    headers,
    signature,
    body: Buffer.from(stored.bodyBase64, "base64"),
  };
}

/** A delivery to store, with its events if this process works. */
export interface NewDelivery {
  readonly delivery: Delivery;
  /** Undefined: store the delivery unexpanded. */
  readonly events: readonly NewEvent[] | undefined;
  /**
   * Set where a queue brings the delivery, perhaps again. If the same was stored within the window of unique keys, nothing is stored. Then
   * the result is {@link STORED_BEFORE}.
   */
  readonly idInQueue?: string | undefined;
}

/** The result for a delivery that was stored before. */
export const STORED_BEFORE: StoreResult = { id: "", expanded: true, duplicates: [], conflicts: [], isRepeated: true };

/** An event of a delivery with a job for each consumer. */
export interface NewEvent {
  /** Its place in the delivery, from 0. */
  readonly entry: number;
  /** An inbox may keep it in memory for the claim; if not, the claim's delivery is parsed again. */
  readonly event: SingleEvent;
  /** If the same key was seen within the window, no job is made, unless the content differs. */
  readonly unique: { readonly key: string; readonly content: string } | undefined;
  readonly jobs: readonly NewJob[];
}

/** A job to make, for one consumer or for none. */
export interface NewJob {
  /** `skipped` and `unhandled` jobs have no consumer and are in no lane. */
  readonly state: "waiting" | "skipped" | "unhandled";
  readonly consumer: string | undefined;
  /** Undefined: the job waits for no other job. */
  readonly lane: string | undefined;
  /** Undefined: the job never merges. */
  readonly mergeKey: string | undefined;
}

export interface StoreResult extends Expanded {
  readonly id: string;
  /** False: the delivery waits for `expand`. */
  readonly expanded: boolean;
  /** Nothing was stored: the same delivery was stored before. */
  readonly isRepeated?: true;
}

/** Which events were seen before, by their index in the given array. */
export interface Expanded {
  /** Same key, same content: no job was made. */
  readonly duplicates: readonly number[];
  /** Same key, other content: jobs were made. */
  readonly conflicts: readonly number[];
}

/** A delivery that is not fully expanded. */
export interface Unexpanded {
  readonly id: string;
  readonly delivery: Delivery;
  /** The next entry to expand. */
  readonly cursor: number;
}

/** The next events of an unexpanded delivery. */
export interface Expansion {
  readonly id: string;
  readonly events: readonly NewEvent[];
  /** The next entry to expand; undefined when the delivery is fully expanded. */
  readonly cursor: number | undefined;
}
