import type { Delivery } from "../../../src/adapter.ts";

/** A delivery as the server gives it. */
export interface DeliveryRow {
  readonly id: number;
  readonly received_at: number;
  readonly sent_at: number;
  readonly source: string | null;
  readonly signed_by: string;
  readonly signature: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export function toDelivery(row: DeliveryRow): Delivery {
  const { received_at: receivedAt, sent_at: sentAt, source, signed_by: signedBy, signature, headers, body } = row;
  return { receivedAt, sentAt, source: source ?? undefined, signedBy, signature, headers, body };
}
