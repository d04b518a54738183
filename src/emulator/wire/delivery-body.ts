import { UsageError } from "../../errors.ts";
import type { AnyEvent, Envelope, UnknownEvent } from "../../protocol/event-types.ts";

/** An event, several events of one delivery, or any body: text and bytes unchanged, other values as JSON. */
export type Sendable = AnyEvent | readonly AnyEvent[] | { readonly wire: unknown };

/**
 * The body that the service would send for these events.
 *
 * @throws UsageError `events-not-combinable` when they cannot come in one delivery
 * @see protocol 6.2
 */
export function toBody(sendable: Sendable): Uint8Array<ArrayBuffer> {
  const wire = "wire" in sendable ? sendable.wire : toWire(sendable);
  if (wire instanceof Uint8Array) return new Uint8Array(wire);
  return new TextEncoder().encode(typeof wire === "string" ? wire : JSON.stringify(wire));
}

/**
 * The JSON that the service would send for these events.
 *
 * @throws UsageError `events-not-combinable` when they cannot come in one delivery
 * @see protocol 6.2
 */
export function toWire(sendable: AnyEvent | readonly AnyEvent[]): unknown {
  const events: readonly AnyEvent[] = Array.isArray(sendable) ? sendable : [sendable];
  const [first] = events;
  if (first === undefined) throw notCombinable("got no event, expected at least one");
  if (!events.every(({ type }: Partial<AnyEvent>) => typeof type === "string"))
    throw notCombinable("got something without a `type`, which is no event");
  if (first.type === "unknown") return alone(events, toUnknown(first));
  const { subscription, resource, accountId } = first;
  const envelope = { subscription, resource, accountId };
  if (first.type === "lifecycle.error" || first.type === "lifecycle.active") {
    return alone(events, { ...first, type: undefined, lifecycleEvent: first.type.slice("lifecycle.".length) });
  }
  if (first.type.endsWith(".signal")) return alone(events, envelope);
  for (const event of events) {
    if (event.subscription === subscription && event.accountId === accountId && event.resource === resource) continue;
    throw notCombinable(`got ${event.type} of another subscription, account or resource than ${first.type}`);
  }
  return { ...envelope, payloads: events.flatMap(toEntries) };
}

/** Fields of the delivery, not of its entries. */
const DELIVERY_FIELDS = new Set(["type", "subscription", "accountId", "resource", "taskListId"]);

function toEntries(event: AnyEvent): readonly object[] {
  if ("changes" in event) {
    if (event.signalled && event.changes.length > 0) throw notCombinable(`got ${event.type} of changes and a signal`);
    return event.changes;
  }
  if (event.type === "unknown" || event.type.endsWith(".signal") || event.type.startsWith("lifecycle.")) {
    throw notCombinable(`got ${event.type} beside others, but it comes alone`);
  }
  const fields = Object.entries(event).filter(
    ([name]) => !DELIVERY_FIELDS.has(name) && !(name === "calendarId" && event.type !== "booking"),
  );
  return [Object.fromEntries(fields)];
}

/** An unknown event is the whole delivery, or one of its entries. */
function toUnknown({ subscription, accountId, resource, reason, json }: UnknownEvent): unknown {
  if (reason === "not-json") return "no JSON";
  const envelope: Partial<Envelope> = { subscription, accountId, resource } as Envelope;
  const whole = resource === undefined || (json as Partial<Envelope> | undefined)?.resource === resource;
  return whole ? (json ?? {}) : { ...envelope, payloads: [json] };
}

function alone(events: readonly AnyEvent[], body: unknown): unknown {
  if (events.length === 1) return body;
  throw notCombinable(`got ${events.length} events beginning with ${events[0]?.type}, but it comes alone`);
}

function notCombinable(what: string): UsageError {
  return new UsageError("events-not-combinable", `One delivery ${what}.`, {
    fix: "Send them one by one, or give the body as { wire: ... }.",
  });
}
