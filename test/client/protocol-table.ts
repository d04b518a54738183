import { PEOPLE_ROWS } from "./people-rows.ts";

/** A row of protocol 4.1, or of what service-facts add to it. */
export interface Row {
  readonly method: string;
  readonly path: string;
  readonly query?: readonly string[];
  readonly headers?: readonly string[];
  /** Fields of the request's body. */
  readonly body?: readonly string[];
  readonly success: number;
  /** Documented errors besides 401. */
  readonly errors?: readonly number[];
}

const CALENDAR = "/v1/calendars/{calendarId}";
const EVENTS = `${CALENDAR}/events`;
const MESSAGE = "/v1/email/messages/{messageId}";

/** Protocol 4.1, row by row, as it is written there. */
export const UNIFIED_ROWS: readonly Row[] = [
  { method: "POST", path: "/v1/calendars/freeBusy", body: ["timeMin", "timeMax", "emails"], success: 200 },
  {
    method: "POST",
    path: "/v1/calendars/suggestMeetingTimes",
    body: ["timeMin", "timeMax", "durationMinutes", "attendees", "defaultTimezone"],
    success: 200,
  },
  { method: "POST", path: `${CALENDAR}/freeBusy`, query: ["pageToken"], body: ["timeMin", "timeMax"], success: 200 },
  {
    method: "POST",
    path: `${CALENDAR}/availableTimes`,
    query: ["pageToken"],
    body: ["timeMin", "timeMax", "durationMinutes", "defaultTimezone"],
    success: 200,
  },

  { method: "GET", path: "/v1/calendars", query: ["pageToken", "withShared", "mode"], success: 200 },
  { method: "POST", path: "/v1/calendars", body: ["name"], success: 201 },
  { method: "GET", path: "/v1/calendars/{id}", success: 200 },
  { method: "PATCH", path: "/v1/calendars/{id}", body: ["name"], success: 200 },

  { method: "POST", path: `${CALENDAR}/sync`, query: ["timeMin", "timeMax"], success: 200 },
  { method: "GET", path: `${CALENDAR}/sync/updated`, query: ["deltaToken", "pageToken"], success: 200, errors: [410] },
  { method: "GET", path: `${CALENDAR}/sync/deleted`, query: ["deltaToken", "pageToken"], success: 200, errors: [410] },

  { method: "GET", path: `${EVENTS}/range`, query: ["timeMin", "timeMax", "pageToken"], success: 200 },
  { method: "GET", path: `${EVENTS}/find`, query: ["iCalUId", "pageToken"], success: 200 },
  { method: "GET", path: `${EVENTS}/{eventId}`, query: ["nativeProperties"], success: 200 },
  {
    method: "POST",
    path: EVENTS,
    query: ["notifyAttendees", "bodyType", "returnRecord"],
    body: ["subject", "start", "end"],
    success: 201,
  },
  {
    method: "PATCH",
    path: `${EVENTS}/{eventId}`,
    query: ["notifyAttendees", "returnRecord"],
    headers: ["if-match"],
    body: ["subject"],
    success: 200,
    errors: [412],
  },
  { method: "DELETE", path: `${EVENTS}/{eventId}`, query: ["notifyAttendees"], success: 200 },
  { method: "GET", path: `${EVENTS}/{masterId}/series`, success: 200 },
  { method: "GET", path: `${EVENTS}/{masterId}/occurrences/{ost}`, success: 200 },
  {
    method: "PUT",
    path: `${EVENTS}/{eventId}/response`,
    query: ["notifyAttendees"],
    body: ["response", "comment"],
    success: 200,
  },
  { method: "GET", path: `${EVENTS}/{eventId}/attachments/{attachmentId}`, success: 200 },

  { method: "POST", path: "/v1/email/sync", query: ["daysWithin", "bodyType"], success: 200 },
  { method: "GET", path: "/v1/email/sync/updated", query: ["deltaToken", "pageToken"], success: 200, errors: [410] },
  { method: "GET", path: "/v1/email/sync/deleted", query: ["deltaToken", "pageToken"], success: 200, errors: [410] },

  {
    method: "GET",
    path: "/v1/email/messages",
    query: ["pageToken", "q", "bodyType", "includeTrashAndJunk", "nativeProperties"],
    success: 200,
  },
  {
    method: "POST",
    path: "/v1/email/messages",
    query: ["bodyType", "returnIds"],
    body: ["subject", "body", "to", "cc"],
    success: 201,
  },
  {
    method: "GET",
    path: MESSAGE,
    query: ["bodyType", "nativeProperties", "loadInlines", "stripQuoted", "requireThreadId", "resolveDraftId"],
    success: 200,
    errors: [408],
  },
  { method: "DELETE", path: MESSAGE, success: 200 },
  { method: "GET", path: `${MESSAGE}/raw`, success: 200 },
  { method: "POST", path: `${MESSAGE}/status`, body: ["unread"], success: 200 },
  { method: "GET", path: "/v1/email/conversations/{threadId}", query: ["bodyType", "pageToken"], success: 200 },
  {
    method: "GET",
    path: "/v1/email/conversations/{threadId}/followup",
    query: ["bodyType", "skipMailboxCheck"],
    success: 200,
  },

  { method: "POST", path: "/v1/subscriptions", body: ["resource", "notificationUrl"], success: 200 },
  { method: "DELETE", path: "/v1/subscriptions/{id}", success: 200 },
];

/** Rows that protocol 4.1 calls "not shown", as service-facts 1.6 and 2.6 have them. */
export const FURTHER_ROWS: readonly Row[] = [
  { method: "GET", path: "/v1/subscriptions", query: ["offset", "includeInactive"], success: 200 },
  { method: "GET", path: "/v1/subscriptions/{id}", success: 200 },
  ...PEOPLE_ROWS,
];
