import * as z from "zod";
import type { Account } from "../../accounts/account.ts";
import { toSchedule, type BusyTime } from "../../calendars/busy-times.ts";
import {
  busyIn,
  timesOf,
  toItem,
  windowOf,
  workHoursOf,
  zoneOf,
  type OwnedCalendar,
} from "../../calendars/meeting-times.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import { operationsOf } from "../../http/operation.ts";
import type { Route } from "../../http/routes.ts";
import { reachableAccountOf } from "../authenticate.ts";
import {
  AVAILABLE_TIMES,
  BUSY_ITEM,
  FREE_BUSY,
  ITEM,
  MAILBOXES_FREE_BUSY,
  SCHEDULES,
  SUGGEST,
  SUGGESTIONS,
} from "./availability-schemas.ts";
import { calendarOf } from "./calendar-routes.ts";
import { pageOf } from "../pages.ts";
import { pageSchema, pageToken } from "../schemas.ts";
import type { UnifiedOptions } from "../unified-routes.ts";

/** Free/busy and availability. @see protocol 4.1 */
export function availabilityRoutes(service: EmulatedService, { pageSize }: UnifiedOptions): readonly Route[] {
  const operation = operationsOf({
    tag: "Free/busy and availability",
    auth: "bearer",
    caller: (context) => reachableAccountOf(service, context),
  });

  /** The primary calendar behind an e-mail, or why it cannot be seen. @param own whose calendar is always counted */
  function primaryOf(email: string, own: Account): { readonly calendar?: OwnedCalendar; readonly error?: string } {
    const owner = [own, ...service.accounts.values()].find((account) => isSame(account.email, email));
    if (owner === undefined) return { error: `There is no mailbox ${email}.` };
    if (!owner.hasAccess) return { error: "The service has lost its access to the mailbox." };
    return { calendar: ownedCalendarOf(owner, "primary") };
  }

  return [
    operation({
      method: "POST",
      path: "/v1/calendars/freeBusy",
      summary: "Gives the busy times of the account and of other mailboxes.",
      body: MAILBOXES_FREE_BUSY,
      answer: SCHEDULES,
      run({ caller, body: { emails, ...request } }) {
        const window = windowOf(request);
        const listed = emails.map((email) => ({ email }));
        const records = withOwn(caller, listed).map(({ email }) => {
          const { calendar, error } = primaryOf(email, caller);
          if (calendar === undefined) return { email, items: [], error };
          const items = toSchedule(busyIn(calendar, window), window).map(toBusyItem);
          return { email, items, workHours: workHoursOf({}, {}) };
        });
        return { records };
      },
    }),
    operation({
      method: "POST",
      path: "/v1/calendars/suggestMeetingTimes",
      summary: "Suggests times at which the account and all attendees can meet.",
      body: SUGGEST,
      answer: SUGGESTIONS,
      run({ caller, body: { attendees, ...search } }) {
        const participants = withOwn(caller, attendees).map((attendee) => {
          const { calendar } = primaryOf(attendee.email, caller);
          return { attendee, calendar };
        });
        return {
          items: Array.from(timesOf(search, participants), (time) => toItem(time, zoneOf(search))),
          attendees: attendees.map((attendee) => {
            const { error } = primaryOf(attendee.email, caller);
            const workHours = workHoursOf(search, attendee);
            return { email: attendee.email, timezone: workHours.timezone, workHours, error };
          }),
        };
      },
    }),
    operation({
      method: "POST",
      path: "/v1/calendars/:calendarId/freeBusy",
      summary: "Gives the busy times of a calendar.",
      query: z.object({ pageToken }),
      body: FREE_BUSY,
      answer: pageSchema(BUSY_ITEM),
      errors: [404],
      run({ caller, query, body, param }) {
        const calendar = ownedCalendarOf(caller, param("calendarId"));
        const window = windowOf(body);
        // A page begins where the last one ended: an event that is added in between hides nothing that comes after it.
        const itemsFrom = (fromMs: number) => {
          const rest = { ...window, startMs: Math.max(fromMs, window.startMs) };
          return toSchedule(busyIn(calendar, rest), rest).map((time) => [time.endMs, toBusyItem(time)] as const);
        };
        return pageOf(itemsFrom, { list: `busy ${calendar.id}`, pageToken: query.pageToken, pageSize });
      },
    }),
    operation({
      method: "POST",
      path: "/v1/calendars/:calendarId/availableTimes",
      summary: "Gives the times at which a meeting fits into a calendar.",
      query: z.object({ pageToken }),
      body: AVAILABLE_TIMES,
      answer: pageSchema(ITEM),
      errors: [404],
      run({ caller, query, body, param }) {
        const calendar = ownedCalendarOf(caller, param("calendarId"));
        const times = Array.from(timesOf(body, [{ attendee: {}, calendar }]), (time) => [time.startMs, time] as const);
        const page = pageOf(times, { list: `available ${calendar.id}`, pageToken: query.pageToken, pageSize });
        return { ...page, records: page.records.map((time) => toItem(time, zoneOf(body))) };
      },
    }),
  ];
}

/** @throws ApiError 404 */
function ownedCalendarOf(owner: Account, id: string): OwnedCalendar {
  return { ...calendarOf(owner.mailbox, id), owner };
}

/** The account's own calendar is counted whether it is listed or not. */
function withOwn<T extends { readonly email: string }>(
  { email }: Account,
  listed: readonly T[],
): readonly (T | { readonly email: string })[] {
  return listed.some((one) => isSame(one.email, email)) ? listed : [{ email }, ...listed];
}

function isSame(email: string, other: string): boolean {
  return email.toLowerCase() === other.toLowerCase();
}

function toBusyItem({ status, ...time }: BusyTime) {
  return { ...toItem(time, "UTC"), status };
}
