import { UsageError } from "../../errors.ts";

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
