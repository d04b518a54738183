import * as z from "zod";
import { EVENT_TIME } from "../../calendars/event-time-schema.ts";
import { RECURRENCE } from "../../calendars/recurrence.ts";
import { RECORD } from "../schemas.ts";

const ATTENDEE = z.looseObject({
  emailAddress: z.looseObject({ address: z.string().includes("@") }),
  type: z.enum(["required", "optional", "resource"]).optional(),
});

const ATTACHMENT = z.looseObject({
  id: z.string().optional(),
  name: z.string().optional(),
  mimeType: z.string().optional(),
  content: z.base64().optional(),
});

/** Of an event that is created. Fields that are not known are kept. @see protocol 2.1 */
export const NEW_EVENT = z.looseObject({
  subject: z.string().optional(),
  description: z.string().optional(),
  location: z.string().optional(),
  start: EVENT_TIME,
  end: EVENT_TIME,
  meetingInfo: z.looseObject({ attendees: z.array(ATTENDEE).optional() }).optional(),
  recurrence: RECURRENCE.optional(),
  showAs: z.enum(["free", "busy", "tentative", "outOfOffice", "unknown"]).optional(),
  sensitivity: z.enum(["normal", "private", "personal", "confidential"]).optional(),
  attachments: z.array(ATTACHMENT).optional(),
});

export const EVENT_CHANGES = NEW_EVENT.partial();

/** @see protocol 2.1: the complete set is "not shown" */
export const MEETING_RESPONSE = z.looseObject({
  response: z.enum(["accepted", "tentative", "declined", "noResponse"]),
  comment: z.string().optional(),
});

const SHOWN_TIME = z.looseObject({
  dateTime: z.string().optional(),
  dateOnly: z.string().optional(),
  timezone: z.string().optional(),
});

const OCCURRENCE_INFO = z.looseObject({
  id: z.string(),
  type: z.enum(["regular", "modified", "deleted"]),
  originalStart: SHOWN_TIME,
  start: SHOWN_TIME,
  masterId: z.string(),
});

/** Of a series. */
const SHOWN_RECURRENCE = z.looseObject({
  original: z.enum(["simple", "ical"]),
  ical: z.looseObject({ rules: z.array(z.string()), recurrenceStart: SHOWN_TIME }),
});

/** An event as it is shown. */
export const EVENT = RECORD.extend({
  etag: z.string(),
  calendarId: z.string(),
  globalId: z.string(),
  recurrenceType: z.enum(["single", "master", "occurrence"]),
  recurrence: SHOWN_RECURRENCE.optional(),
  occurrenceInfo: OCCURRENCE_INFO.optional(),
  hasAttachments: z.boolean(),
});

/** The answer to create and update: `record` where `returnRecord` is set. */
export const EVENT_OR_ID = z.looseObject({
  id: z.string(),
  etag: z.string(),
  globalId: z.string(),
  record: EVENT.optional(),
});

export const SERIES_INFO = z.object({
  id: z.string(),
  globalId: z.string(),
  recurrence: SHOWN_RECURRENCE,
  modifiedOccurrences: z.array(OCCURRENCE_INFO),
  deletedOccurrences: z.array(OCCURRENCE_INFO),
});
