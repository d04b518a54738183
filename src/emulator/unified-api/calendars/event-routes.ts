import * as z from "zod";
import type { Calendar, MailboxRecord } from "../../accounts/mailbox.ts";
import { toEvent } from "../../calendars/event-view.ts";
import { instancesBetween, type Instance, type Window } from "../../calendars/instances.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import { operationsOf } from "../../http/operation.ts";
import type { Route } from "../../http/routes.ts";
import { reachableAccountOf } from "../authenticate.ts";
import { calendarOf } from "./calendar-routes.ts";
import { descriptionOf, toFields } from "./event-fields.ts";
import { EVENT, EVENT_CHANGES, EVENT_OR_ID, NEW_EVENT } from "./event-schemas.ts";
import { assertMatches, IF_MATCH } from "../if-match.ts";
import { eventOf, toAnswer, withICalUIds, writableCalendarOf } from "./events.ts";
import { pageOf, type Position } from "../pages.ts";
import { bodyType, flag, nativeProperties, pageSchema, pageToken } from "../schemas.ts";
import { TIME_WINDOW } from "./time-window.ts";
import type { UnifiedOptions } from "../unified-routes.ts";

const PATH = "/v1/calendars/:calendarId/events";

/** Nobody is notified: an attendee has no mailbox that the event could enter. */
const notifyAttendees = flag(true);
const returnRecord = flag(true);

/** Events of an account's calendars. @see protocol 4.1 */
export function eventRoutes(service: EmulatedService, { pageSize, variants }: UnifiedOptions): readonly Route[] {
  const operation = operationsOf({
    tag: "Events",
    auth: "bearer",
    caller: (context) => reachableAccountOf(service, context),
  });

  function toEventOrId(event: MailboxRecord, calendar: Calendar, hasRecord: boolean): object {
    const { id, etag, iCalUId, globalId } = event;
    const record = toAnswer(event, { calendar, variants });
    return { id, etag, iCalUId, globalId, ...(hasRecord && { record }) };
  }

  return [
    operation({
      method: "GET",
      path: `${PATH}/range`,
      summary: "Lists what happens between two moments: events, and occurrences of series.",
      query: TIME_WINDOW.safeExtend({ pageToken }),
      answer: pageSchema(EVENT),
      errors: [404],
      run({ caller, query, param }) {
        const calendar = calendarOf(caller.mailbox, param("calendarId"));
        const list = JSON.stringify(["range", calendar.id, query.timeMin, query.timeMax]);
        const page = pageOf(placedInstances(calendar, query), { list, pageToken: query.pageToken, pageSize });
        const instances = page.records.toSorted((a, b) => a.startMs - b.startMs);
        return { ...page, records: instances.map(({ event }) => toAnswer(event, { calendar, variants })) };
      },
    }),
    operation({
      method: "GET",
      path: `${PATH}/find`,
      summary: "Lists the events and series that have one of some iCal ids.",
      query: z.object({ iCalUId: z.array(z.string()).min(1), pageToken }),
      answer: pageSchema(EVENT),
      errors: [404],
      run({ caller, query, param }) {
        const calendar = calendarOf(caller.mailbox, param("calendarId"));
        const list = JSON.stringify(["find", calendar.id, query.iCalUId]);
        const found = withICalUIds(calendar, query.iCalUId);
        const page = pageOf(found, { list, pageToken: query.pageToken, pageSize });
        return { ...page, records: page.records.map((event) => toAnswer(event, { calendar, variants })) };
      },
    }),
    operation({
      method: "POST",
      path: PATH,
      summary: "Creates an event, or a series.",
      causes: "calendarEvent.created",
      query: z.object({ notifyAttendees, bodyType, returnRecord }),
      body: NEW_EVENT,
      answer: EVENT_OR_ID,
      status: 201,
      errors: [403, 404],
      run({ caller, query, body, param }) {
        const calendar = writableCalendarOf(caller, param("calendarId"));
        const { name, email: address, mailbox } = caller;
        const { description } = body;
        const event = mailbox.create(calendar, {
          ...toFields(body, { fields: {}, isOccurrence: false }),
          ...(description !== undefined && { description: descriptionOf(description, query.bodyType) }),
          organizer: { emailAddress: { name, address } },
        });
        return toEventOrId(toEvent(event), calendar, query.returnRecord);
      },
    }),
    operation({
      method: "GET",
      path: `${PATH}/:eventId`,
      summary: "Gets an event, a series or an occurrence.",
      query: z.object({ nativeProperties }),
      answer: EVENT,
      errors: [404],
      run({ caller, param }) {
        const calendar = calendarOf(caller.mailbox, param("calendarId"));
        return toAnswer(eventOf(calendar, param("eventId")).view(), { calendar, variants });
      },
    }),
    operation({
      method: "PATCH",
      path: `${PATH}/:eventId`,
      summary: "Updates an event, a series, or one occurrence.",
      headers: IF_MATCH,
      causes: "calendarEvent.updated",
      query: z.object({ notifyAttendees, returnRecord }),
      body: EVENT_CHANGES,
      answer: EVENT_OR_ID,
      errors: [403, 404, 412],
      run({ caller, query, body, param, context }) {
        const calendar = writableCalendarOf(caller, param("calendarId"));
        const event = eventOf(calendar, param("eventId"));
        assertMatches(context, event.view()["etag"] as string, "event");
        event.update(caller.mailbox, calendar, toFields(body, event));
        return toEventOrId(eventOf(calendar, param("eventId")).view(), calendar, query.returnRecord);
      },
    }),
    operation({
      method: "DELETE",
      path: `${PATH}/:eventId`,
      summary: "Deletes an event, a series, or one occurrence.",
      isExact: true,
      causes: "calendarEvent.deleted",
      query: z.object({ notifyAttendees }),
      errors: [403, 404],
      run({ caller, param }) {
        const calendar = writableCalendarOf(caller, param("calendarId"));
        eventOf(calendar, param("eventId")).remove(caller.mailbox, calendar);
      },
    }),
  ];
}

/** Where an event is on the pages does not follow from when it is: one that is moved between two pages is not missed, and comes once. */
function placedInstances({ records, nthOf }: Calendar, window: Window): readonly (readonly [Position, Instance])[] {
  return [...records.values()].flatMap((record) =>
    instancesBetween([record], window)
      .toSorted((a, b) => a.originalStartMs - b.originalStartMs)
      .map((instance) => [[nthOf.get(record.id) ?? 0, instance.originalStartMs], instance] as const),
  );
}
