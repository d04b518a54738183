import type { Id } from "../../protocol/event-types.ts";
import type { Send } from "../http/transport.ts";
import { createPaged, type Paged } from "../paging.ts";
import {
  readBookableTimes,
  readBookedMeeting,
  type BookableTime,
  type BookableTimes,
  type BookedMeeting,
} from "../records/booking.ts";
import type { RequestOptions } from "../request-options.ts";
import { toTimestamp, type Instant } from "../times.ts";

/** Which times are sought. */
export interface BookableTimesOptions extends RequestOptions, RequiredAccounts {
  /** A day such as `2026-03-01`. @default today */
  fromDate?: string | undefined;
  /** How many days from then on: a duration such as `7D`. */
  intervalLength?: string | undefined;
  /** Times on a page. */
  limit?: number | undefined;
}

/** Of a profile of groups. */
interface RequiredAccounts {
  /** Whether one of its accounts and groups must be free, or all. */
  required?: "one" | "all" | undefined;
}

/** What is booked. Other fields are sent as they are. */
export interface NewMeeting {
  /** One of the times that are free. */
  time: { start: Instant; end?: Instant | undefined };
  /** Who is invited. */
  name?: string | undefined;
  email?: string | undefined;
  /** For the `additionalFields` of the profile. */
  substitutionData?: Readonly<Record<string, string>> | undefined;
  /** Those of a profile of groups that are to take part. */
  accountIds?: readonly Id[] | undefined;
  groupXids?: readonly string[] | undefined;
  readonly [field: string]: unknown;
}

/** How it is booked. */
export interface BookOptions extends RequestOptions, RequiredAccounts {
  /** Holds the time for so long, instead of booking it: confirm the `reservationId`. */
  reserveForMinutes?: number | undefined;
}

/** Both calls of a path that ends in `/meeting`. */
export function createMeetingCalls(send: Send, path: string) {
  return {
    times(params: MeetingParams, options: BookableTimesOptions = {}): Paged<BookableTime, BookableTimes> {
      const { required, fromDate, intervalLength, limit, ...rest } = options;
      const query = { required, fromDate, intervalLength, limit };
      return createPaged((pageToken) =>
        send({ method: "GET", path, params, query: { pageToken, ...query }, read: readBookableTimes, options: rest }),
      );
    },
    async book(params: MeetingParams, meeting: NewMeeting, options: BookOptions = {}): Promise<BookedMeeting> {
      const { required, reserveForMinutes, ...rest } = options;
      const { start, end } = meeting.time;
      const time = { start: toTimestamp("start", start), end: end && toTimestamp("end", end) };
      return send({
        method: "POST",
        path,
        params,
        query: { required, reserveForMinutes },
        body: { ...meeting, time },
        read: readBookedMeeting,
        options: rest,
      });
    },
  };
}

type MeetingParams = Readonly<Record<string, string | Id>>;
