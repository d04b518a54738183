import { UsageError } from "../errors.ts";
import type { Change } from "../protocol/change.ts";
import {
  freezeDeep,
  unknownEvent,
  type AnyEvent,
  type Envelope,
  type EventMap,
  type UnknownEvent,
} from "../protocol/event-types.ts";
import { resourceOf } from "../protocol/resources.ts";

/**
 * Makes a complete, frozen event as a handler gets it: for a test that calls a handler itself, or delivers the event.
 *
 * @param name any event name but the families and `*`
 * @param fields those that matter to your test; the others have constant values that match: `resource` names the calendar,
 * task list or booking page that you give, and vice versa
 * @throws UsageError `option-invalid` for any other name
 * @example
 * await onOpen(sample("tracking.open", { context: "deal-9" }), fakeContext());
 */
export function sample<N extends keyof EventMap>(name: N, fields: Partial<EventMap[N]> = {}): EventMap[N] {
  if (!Object.hasOwn(SAMPLES, name)) {
    throw new UsageError("option-invalid", `sample got ${JSON.stringify(name)}, expected the name of an event.`, {
      fix: `Take one of ${Object.keys(SAMPLES).join(", ")}.`,
    });
  }
  const made = name === "unknown" ? unknownOf((fields as Partial<UnknownEvent>).reason) : SAMPLES[name];
  const event: object = { ...made, ...fields };
  const { resource } = fields;
  const ids = typeof resource === "string" ? resourceOf(resource)?.ids : resourceFor(event);
  return frozen(structuredClone({ ...event, ...ids, ...fields }) as AnyEvent) as EventMap[N];
}

function frozen(event: AnyEvent): AnyEvent {
  if (event.type !== "unknown") return freezeDeep(event);
  const { type: _, json, ...fields } = event;
  return unknownEvent(fields, json);
}

interface Named {
  readonly bookingId?: number;
  readonly calendarId?: string;
  readonly taskListId?: string;
}

/** The resource path of a calendar, task list or booking page; empty for other events. */
function resourceFor({ bookingId, calendarId, taskListId }: Named): Partial<Envelope> {
  if (bookingId !== undefined) return { resource: `/booking/${bookingId}` };
  if (calendarId !== undefined) return { resource: `/calendars/${encodeURIComponent(calendarId)}/events` };
  if (taskListId !== undefined) return { resource: `/tasklists/${encodeURIComponent(taskListId)}/tasks` };
  return {};
}

const FROM = { subscription: 1001, accountId: 2002 };
const EMAIL = { ...FROM, resource: "/email/messages" };
const CONTACT = { ...FROM, resource: "/contacts" };
const CALENDAR = { ...FROM, resource: "/calendars/primary/events", calendarId: "primary" };
const TASKS = { ...FROM, resource: "/tasklists/default/tasks", taskListId: "default" };
const TRACKING = {
  ...FROM,
  resource: "/email/tracking",
  createdAt: "2026-01-02T03:04:05Z",
  trackingId: 88,
  context: "deal-9",
  trackingCode: "3f2c1b7e-5a64-4d0e-9a3b-0c1d2e3f4a5b",
};
const VIEW = { location: "Utrecht, NL", userAgent: "Mozilla/5.0", remoteAddr: "192.0.2.1" };
const MAIL = { threadId: "t-1", messageId: "m-2", internetMessageId: "<m-2@example.com>" };

/** An unknown event with that reason. */
function unknownOf(reason: UnknownEvent["reason"] = "resource"): UnknownEvent {
  const type = "unknown";
  if (reason === "not-json") return { type, reason };
  if (reason === "shape") return { ...EMAIL, type, reason, field: "id", json: { changeType: "created" } };
  if (reason === "value")
    return { ...EMAIL, type, reason, field: "changeType", json: { id: "m-1", changeType: "archived" } };
  const notes = { ...FROM, resource: "/notes" };
  return { ...notes, type, reason, field: reason, json: { ...notes, payloads: [{ id: "n-1" }] } };
}

/** A field of the wire format that events keep, though their types omit it. */
const notice = (lifecycleEvent: string): object => ({ lifecycleEvent });
const created = (id: string): Change<"created"> => ({ id, changeType: "created" });
const updated = (id: string): Change<"updated"> => ({ id, changeType: "updated" });
const deleted = (id: string): Change<"deleted"> => ({ id, changeType: "deleted" });
const changes = (prefix: string): readonly Change[] => [created(`${prefix}-1`), updated(`${prefix}-2`)];

const SAMPLES: EventMap = {
  "email.created": { ...EMAIL, ...created("m-1"), attributes: { threadId: "t-1" }, type: "email.created" },
  "email.updated": { ...EMAIL, ...updated("m-1"), attributes: { threadId: "t-1" }, type: "email.updated" },
  "email.deleted": { ...EMAIL, ...deleted("m-1"), type: "email.deleted" },
  "email.signal": { ...EMAIL, type: "email.signal" },
  "email.changes": { ...EMAIL, type: "email.changes", changes: changes("m"), signalled: false },
  "contact.created": { ...CONTACT, ...created("c-1"), type: "contact.created" },
  "contact.updated": { ...CONTACT, ...updated("c-1"), type: "contact.updated" },
  "contact.deleted": { ...CONTACT, ...deleted("c-1"), type: "contact.deleted" },
  "contact.signal": { ...CONTACT, type: "contact.signal" },
  "contact.changes": { ...CONTACT, type: "contact.changes", changes: changes("c"), signalled: false },
  "calendarEvent.created": { ...CALENDAR, ...created("e-1"), type: "calendarEvent.created" },
  "calendarEvent.updated": { ...CALENDAR, ...updated("e-1"), type: "calendarEvent.updated" },
  "calendarEvent.deleted": { ...CALENDAR, ...deleted("e-1"), type: "calendarEvent.deleted" },
  "calendarEvent.signal": { ...CALENDAR, type: "calendarEvent.signal" },
  "calendarEvent.changes": { ...CALENDAR, type: "calendarEvent.changes", changes: changes("e"), signalled: false },
  "task.created": { ...TASKS, ...created("t-1"), type: "task.created" },
  "task.updated": { ...TASKS, ...updated("t-1"), type: "task.updated" },
  "task.deleted": { ...TASKS, ...deleted("t-1"), type: "task.deleted" },
  "task.signal": { ...TASKS, type: "task.signal" },
  "task.changes": { ...TASKS, type: "task.changes", changes: changes("t"), signalled: false },
  "tracking.open": { ...TRACKING, ...VIEW, id: 701, eventType: "open", openNumber: 1, type: "tracking.open" },
  "tracking.click": { ...TRACKING, ...VIEW, id: 702, eventType: "click", type: "tracking.click" },
  "tracking.reply": { ...TRACKING, ...MAIL, id: 703, eventType: "reply", type: "tracking.reply" },
  "tracking.replyBounce": { ...TRACKING, ...MAIL, id: 704, eventType: "replyBounce", type: "tracking.replyBounce" },
  "tracking.initial": { ...TRACKING, ...MAIL, id: 705, eventType: "initial", type: "tracking.initial" },
  booking: {
    ...FROM,
    resource: "/booking/935",
    bookingId: 935,
    calendarId: "primary",
    eventId: "e-9",
    type: "booking",
  },
  "lifecycle.error": { ...EMAIL, ...notice("error"), error: "Active token is missing", type: "lifecycle.error" },
  "lifecycle.active": { ...EMAIL, ...notice("active"), type: "lifecycle.active" },
  unknown: unknownOf(),
};
