import type { Account } from "../../accounts/account.ts";
import type { Calendar, MailboxRecord } from "../../accounts/mailbox.ts";
import { iCalUIdOf, toEvent } from "../../calendars/event-view.ts";
import { findEvent, type FoundEvent } from "../../calendars/find-event.ts";
import { seriesOf, type Series } from "../../calendars/series.ts";
import { ApiError } from "../../http/routes.ts";
import { calendarOf } from "./calendar-routes.ts";
import type { ResolvedVariants } from "../unified-routes.ts";

/** One that the account may write to. @throws ApiError 403, 404 */
export function writableCalendarOf({ mailbox }: Account, id: string): Calendar {
  const calendar = calendarOf(mailbox, id);
  if (!calendar.isShared) return calendar;
  throw new ApiError(
    403,
    "forbidden",
    `The calendar ${JSON.stringify(id)} is another account's, which lets it be read.`,
  );
}

/** By the id of an event, a series or an occurrence. @throws ApiError 404 */
export function eventOf(calendar: Calendar, id: string): FoundEvent {
  const event = findEvent(calendar, id);
  if (event !== undefined) return event;
  throw new ApiError(404, "not_found", `There is no event ${JSON.stringify(id)}.`);
}

/** By the id of its master. @throws ApiError 404 */
export function seriesIn({ records }: Calendar, masterId: string): Series {
  const master = records.get(masterId);
  const series = master && seriesOf(master);
  if (series !== undefined) return series;
  throw new ApiError(404, "not_found", `There is no series ${JSON.stringify(masterId)}.`);
}

/** What of an event is said in two ways, and what only its calendar knows. @param event as `toEvent` and instances have it */
export function toAnswer(
  { iCalUId, ...event }: MailboxRecord,
  { calendar, variants }: { readonly calendar: Calendar; readonly variants: ResolvedVariants },
): Record<string, unknown> {
  return { ...event, calendarId: calendar.id, [variants.iCalUId]: iCalUId };
}

/** Events with one of these iCal ids, each with the number under which it came. */
export function withICalUIds({ records, nthOf }: Calendar, wanted: readonly string[]) {
  return [...records.values()]
    .filter((record) => wanted.includes(iCalUIdOf(record) as string))
    .map((record) => [nthOf.get(record.id) ?? 0, toEvent(record)] as const);
}
