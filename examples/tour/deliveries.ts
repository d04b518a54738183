/** A delivery's body, as the service writes it. */
export interface Delivery {
  readonly subscription: number;
  readonly accountId: number;
  readonly resource: string;
  readonly payloads?: readonly object[];
  readonly lifecycleEvent?: "error" | "active";
  readonly error?: string;
}

export const EMAIL = "/email/messages";
export const CONTACTS = "/contacts";
export const CALENDAR = "/calendars/primary/events";
export const TASKS = "/tasklists/default/tasks";
const TRACKING = "/email/tracking";
const BOOKING = "/booking/31";

/** A record was created, updated or deleted. */
export function change(resource: string, changeType: "created" | "updated" | "deleted", id: string): Delivery {
  return { ...envelope(resource), payloads: [{ id, changeType }] };
}

/** Something changed; no record is named. */
export function signal(resource: string): Delivery {
  return envelope(resource);
}

/** An event of a tracked message. */
export function tracking(eventType: string, id: number): Delivery {
  const own =
    eventType === "open" || eventType === "click"
      ? { location: "Oslo", userAgent: "Mozilla/5.0", remoteAddr: "192.0.2.7" }
      : { threadId: "h-1", messageId: "m-1", internetMessageId: "<m-1@example.com>" };
  const payload = { id, eventType, trackingId: 77, createdAt: "2026-03-02T09:30:00Z", context: "offer", ...own };
  return { ...envelope(TRACKING), payloads: [payload] };
}

/** A meeting was booked. */
export function booking(eventId: string): Delivery {
  return { ...envelope(BOOKING), payloads: [{ bookingId: 31, calendarId: "primary", eventId }] };
}

/** The subscription has an error, or works again. */
export function lifecycle(lifecycleEvent: "error" | "active"): Delivery {
  return {
    ...envelope(EMAIL),
    lifecycleEvent,
    ...(lifecycleEvent === "error" ? { error: "Active token is missing" } : {}),
  };
}

/** The label of a delivery in a row. */
export function labelOf({ resource, payloads, lifecycleEvent }: Delivery): readonly [string, string] {
  if (lifecycleEvent !== undefined) return [resource, lifecycleEvent];
  const [first] = (payloads ?? []) as readonly {
    changeType?: string;
    eventType?: string;
    id?: unknown;
    eventId?: string;
  }[];
  if (first === undefined) return [resource, "no payloads"];
  if (first.changeType !== undefined) return [resource, `${first.changeType} ${String(first.id)}`];
  return [resource, first.eventType ?? first.eventId ?? ""];
}

function envelope(resource: string): Delivery {
  // One subscription for each resource.
  return { subscription: 4000 + resource.length, accountId: 7, resource };
}
