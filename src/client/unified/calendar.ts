import type { Send } from "../http/transport.ts";
import { createPaged, pageReader, type Paged } from "../paging.ts";
import { readBusyTime, readTimeSlot, type BusyTime, type TimeSlot } from "../records/availability.ts";
import { readCalendarEvent, type CalendarEvent } from "../records/calendar-event.ts";
import type { DeletedRecord } from "../records/sync.ts";
import type { RequestOptions } from "../request-options.ts";
import { toWindow, type Window } from "../times.ts";
import { createDeltaSync, type DeltaSync } from "./delta-sync.ts";
import { createEvents, type Events } from "./events.ts";

/** One calendar. */
export interface OneCalendar {
  readonly events: Events;
  /** Changes since a token, in a window of time. @see protocol 4.1, "Calendar sync" */
  readonly sync: DeltaSync<CalendarEvent, DeletedRecord, Window>;
  /** `POST /v1/calendars/{calendarId}/freeBusy` */
  freeBusy(window: Window, options?: RequestOptions): Paged<BusyTime>;
  /** `POST /v1/calendars/{calendarId}/availableTimes` */
  availableTimes(request: AvailableTimesRequest, options?: RequestOptions): Paged<TimeSlot>;
}

/** Times that are sought in one calendar. @see protocol 2.1 */
export interface AvailableTimesRequest extends Window {
  durationMinutes: number;
  /** IANA name of the zone. */
  defaultTimezone: string;
}

const readBusyTimes = pageReader(readBusyTime, "items");
const readTimeSlots = pageReader(readTimeSlot, "items");

/** @param calendarId `primary` is an alias */
export function createCalendar(send: Send, calendarId: string): OneCalendar {
  const params = { calendarId };
  const path = "/v1/calendars/{calendarId}";
  return {
    events: createEvents(send, calendarId),
    sync: createDeltaSync(send, {
      path: `${path}/sync`,
      params,
      toQuery: (window: Window) => ({ ...toWindow(window) }),
      read: readCalendarEvent,
    }),
    freeBusy(window, options) {
      const body = toWindow(window);
      return createPaged((pageToken) =>
        send({
          method: "POST",
          path: `${path}/freeBusy`,
          params,
          query: { pageToken },
          body,
          repeatable: true,
          read: readBusyTimes,
          options,
        }),
      );
    },
    availableTimes({ timeMin, timeMax, ...request }, options) {
      const body = { ...request, ...toWindow({ timeMin, timeMax }) };
      return createPaged((pageToken) =>
        send({
          method: "POST",
          path: `${path}/availableTimes`,
          params,
          query: { pageToken },
          body,
          repeatable: true,
          read: readTimeSlots,
          options,
        }),
      );
    },
  };
}
