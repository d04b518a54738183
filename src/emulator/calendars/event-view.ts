import { etagOf } from "../accounts/etag.ts";
import { attachmentsOf, sizeOf } from "../accounts/attachments.ts";
import type { MailboxRecord } from "../accounts/mailbox.ts";
import { hasOffset, readTime, toEventTime, toMs } from "./event-times.ts";
import { fieldsAt, seriesOf, toOccurrenceInfo, type Series } from "./series.ts";

/** Of a record, without its exceptions. */
type EventFields = Readonly<Record<string, unknown>> & { readonly id: string };

/**
 * An event that does not repeat, or a series, as the API shows it but for its `calendarId`.
 *
 * @see protocol 2.1, whose "other event fields" the service's public description has
 */
export function toEvent(record: MailboxRecord): MailboxRecord {
  const series = seriesOf(record);
  const { exceptions: _, ...fields } = record;
  if (series === undefined) return toView(fields, "single");
  const { recurrence, first, lines } = series;
  const ical = { rules: lines, recurrenceStart: toEventTime(first.startMs, first) };
  return { ...toView(fields, "master"), recurrence: { ...recurrence, ical } };
}

/** One occurrence of a series, in the same form. */
export function toOccurrence(series: Series, originalStartMs: number): MailboxRecord {
  const { recurrence: _, exceptions: __, ...master } = series.master;
  const occurrenceInfo = toOccurrenceInfo(series, originalStartMs);
  const fields = { ...master, ...fieldsAt(series, originalStartMs), id: occurrenceInfo.id };
  return { ...toView(fields, "occurrence"), iCalUId: iCalUIdOf(series.master), occurrenceInfo };
}

/** Fields that every form of an event has. */
function toView(record: EventFields, recurrenceType: "single" | "master" | "occurrence"): MailboxRecord {
  const attachments = attachmentsOf(record).map((attachment) => {
    const { content: _, ...shown } = attachment;
    return Object.assign(shown, { size: sizeOf(attachment) });
  });
  const { start, end } = record;
  return {
    ...record,
    etag: etagOf(record),
    ...(start !== undefined && { start: withOffset(start) }),
    ...(end !== undefined && { end: withOffset(end) }),
    recurrenceType,
    iCalUId: iCalUIdOf(record),
    globalId: `global-${record.id}`,
    attachments,
    hasAttachments: attachments.length > 0,
    omitted: [],
  } as unknown as MailboxRecord;
}

/** The same at a series and its occurrences. */
export function iCalUIdOf({ id, iCalUId }: EventFields): unknown {
  return iCalUId ?? `${id}@hookline.example`;
}

/** A time that was given without an offset gains it. */
function withOffset(given: unknown): unknown {
  const time = readTime(given);
  if (time?.dateTime === undefined || hasOffset(time.dateTime)) return given;
  const ms = toMs(time);
  return ms === undefined ? given : toEventTime(ms, { zone: time.timezone ?? "UTC", isAllDay: false });
}
