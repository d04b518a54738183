import type { ChangeType } from "hookline";
import type { SingleEvent } from "../../src/protocol/event-types.ts";

const envelope = { subscription: 1001, accountId: 2002 };

export function emailEvent(changeType: ChangeType, id = "m-1", fields: object = {}): SingleEvent {
  return {
    ...envelope,
    resource: "/email/messages",
    type: `email.${changeType}`,
    id,
    changeType,
    ...fields,
  } as SingleEvent;
}

export function calendarChange(changeType: ChangeType, id = "e-1", calendarId = "primary"): SingleEvent {
  const resource = `/calendars/${calendarId}/events`;
  return { ...envelope, resource, calendarId, type: `calendarEvent.${changeType}`, id, changeType } as SingleEvent;
}

export function signalOf(family: "email" | "contact", fields: object = {}): SingleEvent {
  const resource = family === "email" ? "/email/messages" : "/contacts";
  return { ...envelope, resource, type: `${family}.signal`, ...fields };
}

export function calendarSignal(calendarId = "primary"): SingleEvent {
  return { ...envelope, resource: `/calendars/${calendarId}/events`, calendarId, type: "calendarEvent.signal" };
}

export function trackingOpen(fields: object = {}): SingleEvent {
  const createdAt = "2026-05-06T07:08:09Z";
  const own = { type: "tracking.open", eventType: "open", id: 7, trackingId: 88, createdAt } as const;
  return { ...envelope, resource: "/email/tracking", ...own, ...fields };
}

export function bookingMade(eventId = "e-1", fields: object = {}): SingleEvent {
  return {
    ...envelope,
    resource: "/booking/935",
    type: "booking",
    bookingId: 935,
    calendarId: "c-1",
    eventId,
    ...fields,
  };
}

export function lifecycleOf(state: "error" | "active", fields: object = {}): SingleEvent {
  const notice = { ...envelope, resource: "/email/messages" };
  return state === "error"
    ? { ...notice, type: "lifecycle.error", error: "invalid_grant", ...fields }
    : { ...notice, type: "lifecycle.active", ...fields };
}

export const unknownEvent: SingleEvent = { type: "unknown", reason: "not-json" };
