import * as z from "zod";
import { toEvent } from "../../calendars/event-view.ts";
import { findOccurrence } from "../../calendars/find-event.ts";
import { exceptionStarts, startAt, toOccurrenceInfo } from "../../calendars/series.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import { operationsOf } from "../../http/operation.ts";
import { ApiError, checked, type Route } from "../../http/routes.ts";
import { ATTACHMENT_CONTENT, contentOf } from "../attachments.ts";
import { reachableAccountOf } from "../authenticate.ts";
import { calendarOf } from "./calendar-routes.ts";
import { withResponse } from "./event-fields.ts";
import { EVENT, MEETING_RESPONSE, SERIES_INFO } from "./event-schemas.ts";
import { eventOf, seriesIn, toAnswer, writableCalendarOf } from "./events.ts";
import { flag, OK, OK_ANSWER } from "../schemas.ts";
import type { UnifiedOptions } from "../unified-routes.ts";

const PATH = "/v1/calendars/:calendarId/events";

/** A day is taken as well: that of the start in the zone of the series. */
const OST = z.object({ ost: z.union([z.iso.datetime({ offset: true }), z.iso.date()]) });

/** What belongs to an event: occurrences, answers to a meeting, attachments. @see protocol 4.1 */
export function occurrenceRoutes(service: EmulatedService, { variants }: UnifiedOptions): readonly Route[] {
  const operation = operationsOf({
    tag: "Events",
    auth: "bearer",
    caller: (context) => reachableAccountOf(service, context),
  });

  return [
    operation({
      method: "GET",
      path: `${PATH}/:masterId/series`,
      summary: "Tells how a series repeats, and which occurrences are not as the others.",
      answer: SERIES_INFO,
      errors: [404],
      run({ caller, param }) {
        const series = seriesIn(calendarOf(caller.mailbox, param("calendarId")), param("masterId"));
        const { id, globalId, recurrence } = toEvent(series.master);
        const infos = exceptionStarts(series).map((startMs) => toOccurrenceInfo(series, startMs));
        const ofType = (type: string) => infos.filter((info) => info.type === type);
        return {
          id,
          globalId,
          recurrence,
          modifiedOccurrences: ofType("modified"),
          deletedOccurrences: ofType("deleted"),
        };
      },
    }),
    operation({
      method: "GET",
      path: `${PATH}/:masterId/occurrences/:ost`,
      summary: "Gets an occurrence by when it started before it was moved.",
      answer: EVENT,
      errors: [404],
      run({ caller, param }) {
        const calendar = calendarOf(caller.mailbox, param("calendarId"));
        const series = seriesIn(calendar, param("masterId"));
        const { ost } = checked(OST, { ost: param("ost") });
        const startMs = startAt(series, ost);
        const occurrence = startMs === undefined ? undefined : findOccurrence(series, startMs);
        if (occurrence !== undefined) return toAnswer(occurrence.view(), { calendar, variants });
        throw new ApiError(404, "not_found", `The series ${param("masterId")} has no occurrence at ${ost}.`);
      },
    }),
    operation({
      method: "PUT",
      path: `${PATH}/:eventId/response`,
      summary: "Answers a meeting.",
      causes: "calendarEvent.updated",
      query: z.object({ notifyAttendees: flag(true) }),
      body: MEETING_RESPONSE,
      answer: OK_ANSWER,
      errors: [403, 404],
      run({ caller, body, param }) {
        const calendar = writableCalendarOf(caller, param("calendarId"));
        const event = eventOf(calendar, param("eventId"));
        const { tentative } = variants;
        event.update(caller.mailbox, calendar, withResponse(event.fields, caller, { ...body, tentative }));
        return OK;
      },
    }),
    operation({
      method: "GET",
      path: `${PATH}/:eventId/attachments/:attachmentId`,
      summary: "Gets the content of an attachment.",
      answer: ATTACHMENT_CONTENT,
      isExact: true,
      errors: [404],
      run({ caller, param }) {
        const { fields } = eventOf(calendarOf(caller.mailbox, param("calendarId")), param("eventId"));
        return contentOf(fields, param("attachmentId"));
      },
    }),
  ];
}
