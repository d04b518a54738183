import { UsageError } from "../../errors.ts";
import type { Send } from "../http/transport.ts";
import { createPaged, pageReader, type Paged } from "../paging.ts";
import {
  readCalendarEvent,
  readEventSeries,
  readSavedEvent,
  type CalendarEvent,
  type EventSeries,
  type SavedEvent,
} from "../records/calendar-event.ts";
import { readAttachment, type Attachment } from "../records/attachment.ts";
import { readNothing } from "../records/reader.ts";
import type { RequestOptions } from "../request-options.ts";
import { toIfMatch } from "./records.ts";
import { toTimestamp, toWindow, type Instant, type Window } from "../times.ts";

/** Events of a calendar. @see protocol 4.1, "Events" */
export interface Events {
  /** `GET /v1/calendars/{calendarId}/events/range` */
  range(window: Window, options?: RequestOptions): Paged<CalendarEvent>;
  /** `GET /v1/calendars/{calendarId}/events/find`: all with these iCal ids. */
  find(options: FindOptions): Paged<CalendarEvent>;
  /** `GET /v1/calendars/{calendarId}/events/{eventId}`. @throws NotFound */
  get(id: string, options?: NativePropertiesOptions): Promise<CalendarEvent>;
  /** `POST /v1/calendars/{calendarId}/events`. Never repeated by itself: it could make two. */
  create(event: object, options?: CreateEventOptions): Promise<SavedEvent>;
  /** `PATCH /v1/calendars/{calendarId}/events/{eventId}`. @throws PreconditionFailed when the event has another `etag` by now */
  update(id: string, event: object, options: UpdateEventOptions): Promise<SavedEvent>;
  /** `DELETE /v1/calendars/{calendarId}/events/{eventId}`. @throws NotFound */
  delete(id: string, options?: NotifyOptions): Promise<void>;
  /** `GET /v1/calendars/{calendarId}/events/{masterId}/series` */
  series(masterId: string, options?: RequestOptions): Promise<EventSeries>;
  /** `GET /v1/calendars/{calendarId}/events/{masterId}/occurrences/{ost}` @param originalStart when it began before it was moved */
  occurrence(masterId: string, originalStart: Instant, options?: RequestOptions): Promise<CalendarEvent>;
  /** `PUT /v1/calendars/{calendarId}/events/{eventId}/response`. Repeated by itself only where `notifyAttendees` is false: it sends a mail. */
  respond(id: string, body: MeetingResponse, options?: NotifyOptions): Promise<void>;
  /** `GET /v1/calendars/{calendarId}/events/{eventId}/attachments/{attachmentId}` */
  attachment(id: string, attachmentId: string, options?: RequestOptions): Promise<Attachment>;
}

/** Which events are sought. */
export interface FindOptions extends RequestOptions {
  /** At least one. */
  iCalUId: readonly string[];
}

/** Fields of the provider's own that are wanted as well. */
export interface NativePropertiesOptions extends RequestOptions {
  nativeProperties?: readonly string[] | undefined;
}

/** Whether attendees are told. */
export interface NotifyOptions extends RequestOptions {
  /** @default true */
  notifyAttendees?: boolean | undefined;
}

/** How an event is created. */
export interface CreateEventOptions extends NotifyOptions {
  /** The answer has the record; that may cost the service one more request. @default true */
  returnRecord?: boolean | undefined;
  /** Of the description. */
  bodyType?: "html" | "text" | undefined;
}

/** How an event is updated. */
export interface UpdateEventOptions extends NotifyOptions {
  /** The `etag` of the event as it was read. */
  ifMatch: string;
  /** The answer has the record; that may cost the service one more request. @default true */
  returnRecord?: boolean | undefined;
}

/** The account's answer to an invitation. @see protocol 2.1 */
export interface MeetingResponse {
  /** `accepted`, `tentative` or `declined`. */
  response: string;
  comment?: string | undefined;
}

const readPage = pageReader(readCalendarEvent);
const EVENTS = "/v1/calendars/{calendarId}/events";
const EVENT = `${EVENTS}/{eventId}`;

export function createEvents(send: Send, calendarId: string): Events {
  const paramsOf = (eventId: string): { readonly calendarId: string; readonly eventId: string } => ({
    calendarId,
    eventId,
  });

  return {
    range(window, options) {
      const texts = toWindow(window);
      return createPaged((pageToken) =>
        send({
          method: "GET",
          path: `${EVENTS}/range`,
          params: { calendarId },
          query: { ...texts, pageToken },
          read: readPage,
          options,
        }),
      );
    },
    find({ iCalUId, ...options }) {
      if (iCalUId.length === 0) throw new UsageError("option-invalid", "find() got no iCalUId, expected at least one.");
      return createPaged((pageToken) =>
        send({
          method: "GET",
          path: `${EVENTS}/find`,
          params: { calendarId },
          query: { iCalUId, pageToken },
          read: readPage,
          options,
        }),
      );
    },
    get: (id, { nativeProperties, ...options } = {}) =>
      send({
        method: "GET",
        path: EVENT,
        params: paramsOf(id),
        query: { nativeProperties },
        read: readCalendarEvent,
        options,
      }),
    create: (event, { notifyAttendees, returnRecord, bodyType, ...options } = {}) =>
      send({
        method: "POST",
        path: EVENTS,
        params: { calendarId },
        query: { notifyAttendees, returnRecord, bodyType },
        body: event,
        read: readSavedEvent,
        options,
      }),
    async update(id, event, given: UpdateEventOptions | undefined) {
      const { ifMatch, notifyAttendees, returnRecord, ...options } = given ?? ({} as UpdateEventOptions);
      return send({
        method: "PATCH",
        path: EVENT,
        params: paramsOf(id),
        query: { notifyAttendees, returnRecord },
        headers: toIfMatch(ifMatch, "event"),
        body: event,
        read: readSavedEvent,
        options,
      });
    },
    delete: (id, { notifyAttendees, ...options } = {}) =>
      send({
        method: "DELETE",
        path: EVENT,
        params: paramsOf(id),
        query: { notifyAttendees },
        read: readNothing,
        answerOptional: true,
        options,
      }),
    series: (masterId, options) =>
      send({
        method: "GET",
        path: `${EVENTS}/{masterId}/series`,
        params: { calendarId, masterId },
        read: readEventSeries,
        options,
      }),
    occurrence: async (masterId, originalStart, options) =>
      send({
        method: "GET",
        path: `${EVENTS}/{masterId}/occurrences/{ost}`,
        params: { calendarId, masterId, ost: toTimestamp("originalStart", originalStart) },
        read: readCalendarEvent,
        options,
      }),
    respond: (id, body, { notifyAttendees, ...options } = {}) =>
      send({
        method: "PUT",
        path: `${EVENT}/response`,
        params: paramsOf(id),
        query: { notifyAttendees },
        body,
        repeatable: notifyAttendees === false,
        read: readNothing,
        answerOptional: true,
        options,
      }),
    attachment: (id, attachmentId, options) =>
      send({
        method: "GET",
        path: `${EVENT}/attachments/{attachmentId}`,
        params: { ...paramsOf(id), attachmentId },
        read: readAttachment,
        options,
      }),
  };
}
