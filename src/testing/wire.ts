import { UsageError } from "../errors.ts";
import type { AnyEvent } from "../protocol/events.ts";

/** What can be sent: an event, several of one delivery, or a body as it is. */
export type Sendable = AnyEvent | readonly AnyEvent[] | { readonly wire: unknown };

/**
 * The body that the service would send for these events.
 * @throws UsageError `events-apart` when they cannot come in one delivery
 * @see protocol 6.2
 */
export function toWire(sendable: Sendable): unknown {
  if ("wire" in sendable) return sendable.wire;
  const events: readonly AnyEvent[] = Array.isArray(sendable) ? sendable : [sendable];
  const [first] = events;
  if (first === undefined) throw apart("got no event, expected at least one");
  if (first.type === "unknown") return alone(events, first.json ?? {});
  const { subscription, resource, accountId } = first;
  const envelope = { subscription, resource, accountId };
  if (first.type === "lifecycle.active") return alone(events, { ...envelope, lifecycleEvent: "active" });
  if (first.type === "lifecycle.error") {
    return alone(events, { ...envelope, lifecycleEvent: "error", error: first.error });
  }
  if (first.type.endsWith(".signal")) return alone(events, envelope);
  for (const event of events) {
    if (event.subscription === subscription && event.accountId === accountId && event.resource === resource) continue;
    throw apart(`got ${event.type} of another subscription, account or resource than ${first.type}`);
  }
  return { ...envelope, payloads: events.flatMap(toEntries) };
}

/** What a delivery says once for all of its entries. */
const SAID_ONCE = new Set(["type", "subscription", "accountId", "resource", "taskListId", "signalled"]);

function toEntries(event: AnyEvent): readonly object[] {
  if ("changes" in event) return event.changes;
  if (event.type === "unknown" || event.type.endsWith(".signal") || event.type.startsWith("lifecycle.")) {
    throw apart(`got ${event.type} beside others, but it comes alone`);
  }
  const fields = Object.entries(event).filter(
    ([name]) => !SAID_ONCE.has(name) && !(name === "calendarId" && event.type !== "booking"),
  );
  return [Object.fromEntries(fields)];
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
