import type { Envelope, SingleEvent } from "./event-types.ts";

/** Why the receiver itself makes a signal: something may have been missed, or one consumer's sync is to run. */
export type OwnSignal = { readonly cause: "gap" } | { readonly cause: "run"; readonly consumer: string };

/** A field that no delivery of the service has. */
const FIELD = "hookline";

/** The body of a delivery that the receiver makes itself. Only `.changes` handlers get its signal. */
export function ownSignalBody({ subscription, accountId, resource }: Envelope, signal: OwnSignal): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ subscription, accountId, resource, [FIELD]: signal }));
}

/** What the JSON of a delivery without entries gives to its signal. */
export function ownSignalIn(delivery: Readonly<Record<string, unknown>>): OwnSignal | undefined {
  const { cause, consumer } = Object(delivery[FIELD]) as { readonly cause?: unknown; readonly consumer?: unknown };
  if (cause === "gap") return { cause };
  return cause === "run" && typeof consumer === "string" ? { cause, consumer } : undefined;
}

/** Why the receiver made it; undefined for what the service sent. */
export function ownSignalOf(event: SingleEvent): OwnSignal | undefined {
  return event.type.endsWith(".signal") && "cause" in event ? (event as unknown as OwnSignal) : undefined;
}
