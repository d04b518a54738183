import type { Send } from "../http/transport.ts";
import { createPaged, pageReader, type Paged } from "../paging.ts";
import {
  readFreeBusySchedule,
  readMeetingTimes,
  type FreeBusySchedule,
  type MeetingTimes,
} from "../records/availability.ts";
import type { RequestOptions } from "../request-options.ts";
import { toWindow, type Window } from "../times.ts";

/** When people are free. Of each mailbox only the primary calendar counts, and the account's own always does. @see protocol 4.1 */
export interface Availability {
  /** `POST /v1/calendars/freeBusy` */
  freeBusy(request: FreeBusyRequest, options?: RequestOptions): Paged<FreeBusySchedule>;
  /** `POST /v1/calendars/suggestMeetingTimes` */
  suggestMeetingTimes(request: MeetingTimesRequest, options?: RequestOptions): Promise<MeetingTimes>;
}

/** Whose calendars are looked at. @see protocol 2.1 */
export interface FreeBusyRequest extends Window {
  /** Addresses of mailboxes. */
  emails: readonly string[];
}

/** The meeting for which a time is sought. @see protocol 2.1 */
export interface MeetingTimesRequest extends Window {
  durationMinutes: number;
  attendees: readonly { email: string; readonly [field: string]: unknown }[];
  /** IANA name of the zone. */
  defaultTimezone: string;
  /** Between two meetings. */
  bufferBetweenMinutes?: number | undefined;
  /** Minutes from one suggested beginning to the next. @default 30 */
  availabilityStep?: number | undefined;
}

const readSchedules = pageReader(readFreeBusySchedule);

export function createAvailability(send: Send): Availability {
  return {
    freeBusy({ emails, ...window }, options) {
      const body = { ...toWindow(window), emails };
      return createPaged((pageToken) =>
        send({
          method: "POST",
          path: "/v1/calendars/freeBusy",
          query: { pageToken },
          body,
          repeatable: true,
          read: readSchedules,
          options,
        }),
      );
    },
    suggestMeetingTimes: async ({ timeMin, timeMax, ...request }, options) =>
      send({
        method: "POST",
        path: "/v1/calendars/suggestMeetingTimes",
        body: { ...request, ...toWindow({ timeMin, timeMax }) },
        repeatable: true,
        read: readMeetingTimes,
        options,
      }),
  };
}
