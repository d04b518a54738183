import type { RawRequest } from "hookline";
import { createHmac } from "node:crypto";
import type { Delivery } from "../../src/inbox/port/delivery.ts";

export interface BodyFields {
  readonly subscription?: unknown;
  readonly accountId?: unknown;
  readonly resource?: string;
  readonly payloads?: unknown;
  readonly [other: string]: unknown;
}

/** The text of a delivery; by default a change of one e-mail. */
export function bodyOf(fields: BodyFields = {}): string {
  return JSON.stringify({
    subscription: 1001,
    accountId: 2002,
    resource: "/email/messages",
    payloads: [change("m-1")],
    ...fields,
  });
}

export function change(id: string, changeType = "updated"): { readonly id: string; readonly changeType: string } {
  return { id, changeType };
}

export function tracked(id: number, fields: object = {}): object {
  return { id, eventType: "open", createdAt: "2026-05-06T07:08:09Z", trackingId: 88, ...fields };
}

/** A delivery of tracking events. */
export function trackingBody(...payloads: readonly object[]): string {
  return bodyOf({ resource: "/email/tracking", payloads });
}

/** A delivery of meetings booked on page 935. */
export function bookingBody(...eventIds: readonly string[]): string {
  return bodyOf({
    resource: "/booking/935",
    payloads: eventIds.map((eventId) => ({ bookingId: 935, calendarId: "c-1", eventId })),
  });
}

export function lifecycleBody(lifecycleEvent: string, fields: BodyFields = {}): string {
  return bodyOf({ lifecycleEvent, ...fields, payloads: undefined });
}

/** A verified delivery, as an inbox stores it. */
export function makeDelivery(body: string = bodyOf(), fields: Partial<Delivery> = {}): Delivery {
  const sentAt = fields.sentAt ?? Date.parse("2026-05-06T07:08:00Z");
  const signature = signatureOf(body, sentAt, "secret");
  return {
    receivedAt: sentAt + 1_000,
    sentAt,
    source: undefined,
    signedBy: "default",
    signature,
    headers: { "x-aurinko-signature": signature, "x-aurinko-request-timestamp": String(Math.floor(sentAt / 1_000)) },
    body: Buffer.from(body),
    ...fields,
  };
}

/** A signed request, as a mount passes it. */
export function signedRequest(
  body: string,
  { secret, at, source }: { readonly secret: string; readonly at: Date; readonly source?: string | undefined },
): RawRequest {
  return {
    method: "POST",
    url: "/",
    headers: {
      "X-Aurinko-Request-Timestamp": String(Math.floor(at.getTime() / 1_000)),
      "X-Aurinko-Signature": signatureOf(body, at.getTime(), secret),
    },
    body: Buffer.from(body),
    source,
  };
}

function signatureOf(body: string, atMs: number, secret: string): string {
  return createHmac("sha256", secret)
    .update(`v0:${Math.floor(atMs / 1_000)}:${body}`)
    .digest("hex");
}
