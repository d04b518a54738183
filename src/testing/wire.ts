import { UsageError } from "../errors.ts";
import type { AnyEvent, Envelope, UnknownEvent } from "../protocol/events.ts";

/** What can be sent: an event, several of one delivery, or any body: text and bytes as they are, all else as JSON. */
export type Sendable = AnyEvent | readonly AnyEvent[] | { readonly wire: unknown };

/**
 * The body that the service would send for these events. A new one every time.
 *
 * @throws UsageError `events-apart` when they cannot come in one delivery
 * @see protocol 6.2
 */
export function toBody(sendable: Sendable): Uint8Array<ArrayBuffer> {
  const wire = "wire" in sendable ? sendable.wire : toWire(sendable);
  if (wire instanceof Uint8Array) return new Uint8Array(wire);
  return new TextEncoder().encode(typeof wire === "string" ? wire : JSON.stringify(wire));
}

function toWire(sendable: AnyEvent | readonly AnyEvent[]): unknown {
  const events: readonly AnyEvent[] = Array.isArray(sendable) ? sendable : [sendable];
  const [first] = events;
  if (first === undefined) throw apart("got no event, expected at least one");
  if (first.type === "unknown") return alone(events, toUnknown(first));
  const { subscription, resource, accountId } = first;
  const envelope = { subscription, resource, accountId };
  if (first.type === "lifecycle.error" || first.type === "lifecycle.active") {
    return alone(events, { ...first, type: undefined, lifecycleEvent: first.type.slice("lifecycle.".length) });
  }
  if (first.type.endsWith(".signal")) return alone(events, envelope);
  for (const event of events) {
    if (event.subscription === subscription && event.accountId === accountId && event.resource === resource) continue;
    throw apart(`got ${event.type} of another subscription, account or resource than ${first.type}`);
  }
  return { ...envelope, payloads: events.flatMap(toEntries) };
}

/** What a delivery says once for all of its entries. */
const SAID_ONCE = new Set(["type", "subscription", "accountId", "resource", "taskListId"]);

function toEntries(event: AnyEvent): readonly object[] {
  if ("changes" in event) {
    if (event.signalled && event.changes.length > 0) throw apart(`got ${event.type} of changes and a signal`);
    return event.changes;
  }
  if (event.type === "unknown" || event.type.endsWith(".signal") || event.type.startsWith("lifecycle.")) {
    throw apart(`got ${event.type} beside others, but it comes alone`);
  }
  const fields = Object.entries(event).filter(
    ([name]) => !SAID_ONCE.has(name) && !(name === "calendarId" && event.type !== "booking"),
  );
  return [Object.fromEntries(fields)];
}

/** What was not understood is the whole delivery, or one entry of it. */
function toUnknown({ subscription, accountId, resource, reason, json }: UnknownEvent): unknown {
  if (reason === "not-json") return "no JSON";
  const envelope: Partial<Envelope> = { subscription, accountId, resource } as Envelope;
  const whole = resource === undefined || (json as Partial<Envelope> | undefined)?.resource === resource;
  return whole ? (json ?? {}) : { ...envelope, payloads: [json] };
}

function alone(events: readonly AnyEvent[], body: unknown): unknown {
  if (events.length === 1) return body;
  throw apart(`got ${events.length} events beginning with ${events[0]?.type}, but it comes alone`);
}

function apart(what: string): UsageError {
  return new UsageError("events-apart", `One delivery ${what}.`, {
    fix: "Send them one by one, or give the body as { wire: ... }.",
  });
}
