import type { Change, EventMap } from "../protocol/events.ts";

/**
 * An event as a handler gets it, whole and of the right type: for a test that calls a handler itself.
 *
 * @param fields what your test is about; the rest is made up, the same every time
 * @example
 * await onOpen(sample("tracking.open", { context: "deal-9" }), fakeContext());
 */
export function sample<N extends keyof EventMap>(name: N, fields: Partial<EventMap[N]> = {}): EventMap[N] {
  return { ...SAMPLES[name], ...fields };
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
  "lifecycle.error": { ...EMAIL, error: "Active token is missing", type: "lifecycle.error" },
  "lifecycle.active": { ...EMAIL, type: "lifecycle.active" },
  unknown: {
    ...FROM,
    resource: "/notes",
    type: "unknown",
    reason: "resource",
    json: { ...FROM, resource: "/notes", payloads: [{ id: "n-1" }] },
  },
};
