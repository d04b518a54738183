import type * as z from "zod";
import type { Account } from "../../accounts/account.ts";
import { readTime, toMs } from "../../calendars/event-times.ts";
import { attachmentsOf, type Attachment } from "../../accounts/attachments.ts";
import { toSeries } from "../../calendars/series.ts";
import { wrongField } from "../../http/routes.ts";
import type { EVENT_CHANGES, MEETING_RESPONSE } from "./event-schemas.ts";
import { toHtml } from "../html.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What an event has already. */
interface Before {
  readonly fields: Fields;
  readonly isOccurrence: boolean;
}

/** Set by the service alone: a client that sends back what it got does not change them. */
const READ_ONLY: ReadonlySet<string> = new Set(
  "id etag calendarId createdTime lastModifiedTime organizer recurrenceType occurrenceInfo iCalUId iCalUid globalId htmlLink hasAttachments omitted exceptions".split(
    " ",
  ),
);

/** The fields of a body as they are stored. @throws ApiError 400 where they do not fit each other, or what the event has already */
export function toFields(body: z.output<typeof EVENT_CHANGES>, { fields: old, isOccurrence }: Before): Fields {
  const given = Object.fromEntries(Object.entries(body).filter(([name]) => !READ_ONLY.has(name)));
  const fields = {
    ...given,
    ...(body.attachments !== undefined && { attachments: withContents(body.attachments, attachmentsOf(old)) }),
  };
  const event: Fields = { ...old, ...fields };
  assertTimes(event);
  if (isOccurrence && body.recurrence !== undefined)
    throw wrongField("recurrence", "an occurrence has none of its own, expected it at the series alone");
  if (!isOccurrence && event["recurrence"] !== undefined) assertSeries(event);
  return fields;
}

/** Bodies of events are HTML. */
export function descriptionOf(description: string, bodyType: "html" | "text"): string {
  return bodyType === "text" ? toHtml(description) : description;
}

/** The answer of the account to a meeting, for itself and in the list of attendees. @param tentative how that answer is spelled there */
export function withResponse(
  { meetingInfo = {} }: Fields,
  { email }: Account,
  { response, comment, tentative }: z.output<typeof MEETING_RESPONSE> & { readonly tentative: string },
): Fields {
  const { attendees = [], ...others } = meetingInfo as { readonly attendees?: readonly Attendee[] };
  const own = { response: response === "tentative" ? tentative : response, ...(comment !== undefined && { comment }) };
  const answered = attendees.map((attendee) =>
    attendee.emailAddress?.address?.toLowerCase() === email.toLowerCase() ? Object.assign({}, attendee, own) : attendee,
  );
  return { meetingInfo: { ...others, attendees: answered, response } };
}

interface Attendee {
  readonly emailAddress?: { readonly address?: string };
}

/** One that is sent back without its content keeps it. */
function withContents(
  given: NonNullable<z.output<typeof EVENT_CHANGES>["attachments"]>,
  old: readonly Attachment[],
): readonly Attachment[] {
  const taken = new Set([...given, ...old].map(({ id }) => id));
  let count = 0;
  const nextId = (): string => {
    do count += 1;
    while (taken.has(`a-${count}`));
    return `a-${count}`;
  };
  return given.map((attachment) => ({
    ...old.find(({ id }) => id === attachment.id),
    ...attachment,
    id: attachment.id ?? nextId(),
  }));
}

/** @throws ApiError 400 */
function assertTimes(event: Fields): void {
  const [start, end] = [readTime(event["start"]), readTime(event["end"])];
  if (start === undefined || end === undefined) return;
  const isDay = start.dateOnly !== undefined;
  if (isDay !== (end.dateOnly !== undefined))
    throw wrongField("end", `expected ${isDay ? "dateOnly" : "dateTime"}, as start has`);
  const [startMs = 0, endMs = 0] = [start, { timezone: start.timezone, ...end }].map(toMs);
  if (endMs < startMs) throw wrongField("end", "it is before start");
}

/** @throws ApiError 400 */
function assertSeries(event: Fields): void {
  try {
    toSeries({ id: "", createdTime: "", lastModifiedTime: "", ...event });
  } catch (error) {
    throw wrongField("recurrence", (error as Error).message);
  }
}
