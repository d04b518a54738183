import * as z from "zod/mini";
import { optional } from "../../protocol/read-fields.ts";
import { flag, nested, nestedList, recordReader, text, texts, type Open, type Reader } from "./reader.ts";

/** A time of an event: `dateTime`, or `dateOnly` where it lasts all day. @see protocol 2.1 */
export interface EventTime {
  readonly dateTime?: string;
  readonly dateOnly?: string;
  /** IANA name of the zone. */
  readonly timezone?: string;
}

/** A person's name and address. */
export interface EmailAddress {
  readonly address?: string;
  readonly name?: string;
}

/** Who is invited to an event. */
export interface Attendee {
  readonly emailAddress?: EmailAddress;
  readonly type?: Open<"required" | "optional" | "resource">;
  /** The service also writes `tentitive`. */
  readonly response?: Open<"noResponse" | "accepted" | "tentative" | "declined">;
  readonly comment?: string;
}

/** The meeting that an event is. */
export interface MeetingInfo {
  readonly attendees?: readonly Attendee[];
  readonly canceled?: boolean;
  /** The account's own. */
  readonly response?: Open<"noResponse" | "accepted" | "tentative" | "declined">;
}

/** What an occurrence says of its series. */
export interface OccurrenceInfo {
  readonly id?: string;
  readonly type?: Open<"regular" | "modified" | "deleted">;
  /** Before it was moved. How the service writes it is not shown. */
  readonly originalStart?: string | EventTime;
  readonly start?: string | EventTime;
  readonly masterId?: string;
}

/** How a series repeats. The service writes a rule in both forms. */
export interface Recurrence {
  readonly original?: Open<"simple" | "ical">;
  readonly ical?: { readonly rules?: readonly string[]; readonly recurrenceStart?: EventTime };
  readonly simple?: object;
}

interface CalendarEventFields {
  readonly id: string;
  /** For `update`. */
  readonly etag?: string;
  readonly calendarId?: string;
  readonly iCalUId?: string;
  readonly subject?: string;
  readonly description?: string;
  readonly location?: string;
  readonly start?: EventTime;
  readonly end?: EventTime;
  readonly meetingInfo?: MeetingInfo;
  readonly recurrenceType?: Open<"single" | "master" | "occurrence">;
  /** Of a series. */
  readonly recurrence?: Recurrence;
  readonly occurrenceInfo?: OccurrenceInfo;
  readonly showAs?: Open<"free" | "busy" | "tentative" | "outOfOffice">;
  readonly sensitivity?: Open<"normal" | "private" | "personal" | "confidential">;
  readonly createdTime?: string;
  readonly lastModifiedTime?: string;
  readonly htmlLink?: string;
  readonly hasAttachments?: boolean;
  /** What the service left out: `description`, `attendees`, `attachments`. */
  readonly omitted?: readonly string[];
}

/** An event of a calendar. Fields that are not listed here are kept. @see protocol 2.1 */
export interface CalendarEvent extends CalendarEventFields {
  readonly [field: string]: unknown;
}

const time = nested<EventTime>({ dateTime: text, dateOnly: text, timezone: text });
/** How an occurrence has its times is not shown. */
const anyTime: z.ZodMiniType<string | EventTime | undefined> = optional(z.union([z.string(), z.looseObject({})]));
const OCCURRENCE = { id: text, type: text, originalStart: anyTime, start: anyTime, masterId: text };
const recurrence = nested<Recurrence>({
  original: text,
  ical: nested<NonNullable<Recurrence["ical"]>>({ rules: texts, recurrenceStart: time }),
  simple: nested<object>({}),
});
const address = nested<EmailAddress>({ address: text, name: text });

const read = recordReader<CalendarEventFields>({
  id: z.string(),
  etag: text,
  calendarId: text,
  iCalUId: text,
  subject: text,
  description: text,
  location: text,
  start: time,
  end: time,
  meetingInfo: nested<MeetingInfo>({
    attendees: nestedList<Attendee>({ emailAddress: address, type: text, response: text, comment: text }),
    canceled: flag,
    response: text,
  }),
  recurrenceType: text,
  recurrence,
  occurrenceInfo: nested<OccurrenceInfo>(OCCURRENCE),
  showAs: text,
  sensitivity: text,
  createdTime: text,
  lastModifiedTime: text,
  htmlLink: text,
  hasAttachments: flag,
  omitted: texts,
});

/** The service writes `iCalUid` in some answers. */
export const readCalendarEvent: Reader<CalendarEvent> = (json) => {
  const event = read(json);
  return event.iCalUId === undefined && typeof event["iCalUid"] === "string"
    ? { ...event, iCalUId: event["iCalUid"] }
    : event;
};

/** What `create` and `update` give: the id, and the record where it was asked for. */
export interface SavedEvent {
  readonly id: string;
  readonly etag?: string;
  readonly iCalUId?: string;
  /** Where `returnRecord` is not false. */
  readonly record?: CalendarEvent;
}

const readSavedFields = recordReader<Omit<SavedEvent, "record">>({ id: z.string(), etag: text, iCalUId: text });

/** "Event record or event id": the record itself, or an object that has it in a field. @see protocol 4.1 */
export const readSavedEvent: Reader<SavedEvent> = (json) => {
  const { id, etag, iCalUId, ...rest } = readSavedFields(json);
  const { record } = rest;
  const whole = typeof record === "object" && record !== null ? record : "start" in rest ? json : undefined;
  return {
    id,
    ...(etag !== undefined && { etag }),
    ...(iCalUId !== undefined && { iCalUId }),
    ...(whole !== undefined && { record: readCalendarEvent(whole) }),
  };
};

interface EventSeriesFields {
  readonly id?: string;
  readonly recurrence?: Recurrence;
  readonly modifiedOccurrences?: readonly OccurrenceInfo[];
  readonly deletedOccurrences?: readonly OccurrenceInfo[];
}

/** The series of a master event. Fields that are not listed here are kept. */
export interface EventSeries extends EventSeriesFields {
  readonly [field: string]: unknown;
}

const occurrences = nestedList<OccurrenceInfo>(OCCURRENCE);

export const readEventSeries: Reader<EventSeries> = recordReader<EventSeriesFields>({
  id: text,
  recurrence,
  modifiedOccurrences: occurrences,
  deletedOccurrences: occurrences,
});
