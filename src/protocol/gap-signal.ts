import type { Envelope, SingleEvent } from "./event-types.ts";

/** A field of no delivery of the service: the receiver itself made this one. */
const FIELD = "hooklineCause";

/** The body of a delivery that the receiver makes itself: something of this resource may have been missed. */
export function gapSignalBody({ subscription, accountId, resource }: Envelope): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ subscription, accountId, resource, [FIELD]: "gap" }));
}

/** What the JSON of a delivery without entries gives to its signal. */
export function causeOf(delivery: Readonly<Record<string, unknown>>): { readonly cause?: "gap" } {
  return delivery[FIELD] === "gap" ? { cause: "gap" } : {};
}

/** Whether the receiver made it itself. */
export function isOfGap(event: SingleEvent): boolean {
  return event.type.endsWith(".signal") && "cause" in event;
}
