import { createHash } from "node:crypto";
import type { MailboxRecord } from "../accounts/mailbox.ts";
import { moveSpan, readTime, hasOffset, spanOf, toEventTime, toMs, type EventTime, type Span } from "./event-times.ts";
import { toRules, type Recurrence } from "./recurrence.ts";

/** An attachment of an event, as its record has it. */
export interface Attachment {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly mimeType?: string | undefined;
  /** Base64. */
  readonly content?: string | undefined;
}

/** What is different at occurrences of a series, by the key of each: changed fields, or null where it was deleted. */
export type Exceptions = Readonly<Record<string, Readonly<Record<string, unknown>> | null>>;

/** A series, and when its first occurrence is. */
export interface Series {
  readonly master: MailboxRecord;
  readonly recurrence: Recurrence;
  readonly first: Span;
  readonly exceptions: Exceptions;
}

/** The series of a record; undefined for an event that does not repeat. */
export function seriesOf(record: MailboxRecord): Series | undefined {
  const first = spanOf(record);
  const recurrence = record["recurrence"] as Recurrence | undefined;
  if (first === undefined || typeof recurrence !== "object") return undefined;
  return { master: record, recurrence, first, exceptions: (record["exceptions"] ?? {}) as Exceptions };
}

/**
 * An event that does not repeat, or a series, as the API shows it but for its `calendarId`.
 *
 * @see protocol 2.1, whose "other event fields" the service's public description has
 */
export function toEvent(record: MailboxRecord): MailboxRecord {
  const series = seriesOf(record);
  const { exceptions: _, ...fields } = record;
  if (series === undefined) return toView(fields, "single");
  const { recurrence, first } = series;
  const ical = { rules: toRules(recurrence, first), recurrenceStart: toEventTime(first.startMs, first) };
  return { ...toView(fields, "master"), recurrence: { ...recurrence, ical } };
}

/** One occurrence of a series, as the API shows it but for its `calendarId`. */
export function toOccurrence(series: Series, originalStartMs: number): MailboxRecord {
  const { recurrence: _, exceptions: __, ...master } = series.master;
  const info = toOccurrenceInfo(series, originalStartMs);
  return {
    ...toView({ ...master, ...fieldsAt(series, originalStartMs), id: info.id }, "occurrence"),
    iCalUId: iCalUIdOf(series.master),
    occurrenceInfo: info,
  };
}

/** What names an occurrence. */
export interface OccurrenceInfo {
  readonly id: string;
  readonly type: "regular" | "modified" | "deleted";
  readonly originalStart: EventTime;
  readonly start: EventTime;
  readonly masterId: string;
}

export function toOccurrenceInfo(series: Series, originalStartMs: number): OccurrenceInfo {
  const { master, first, exceptions } = series;
  const key = toKey(originalStartMs, first);
  const exception = exceptions[key];
  const originalStart = toEventTime(originalStartMs, first);
  return {
    id: `${master.id}_${key}`,
    type: exception === undefined ? "regular" : exception === null ? "deleted" : "modified",
    originalStart,
    start: readTime(exception?.["start"]) ?? originalStart,
    masterId: master.id,
  };
}

/** Times of an occurrence, and what was changed at it alone. */
export function fieldsAt({ first, exceptions }: Series, originalStartMs: number): Readonly<Record<string, unknown>> {
  const regular = moveSpan(first, originalStartMs);
  return {
    start: toEventTime(regular.startMs, regular),
    end: toEventTime(regular.endMs, regular),
    ...exceptions[toKey(originalStartMs, first)],
  };
}

/** Original start of an occurrence, in its id and among the exceptions: a day, or seconds in UTC. */
export function toKey(originalStartMs: number, first: Span): string {
  const { dateOnly } = toEventTime(originalStartMs, first);
  const text = dateOnly ?? `${new Date(originalStartMs).toISOString().slice(0, -".000Z".length)}Z`;
  return text.replaceAll(/[-:]/g, "");
}

/** The master's id and the original start in an occurrence's id; undefined where the id is none. */
export function readOccurrenceId(id: string): { readonly masterId: string; readonly key: string } | undefined {
  const [, masterId, key] = /^(.+)_(\d{8}(?:T\d{6}Z)?)$/.exec(id) ?? [];
  return masterId === undefined || key === undefined ? undefined : { masterId, key };
}

/** The moment behind a key; undefined where it is none of this series. */
export function readKey(key: string, { zone, isAllDay }: Span): number | undefined {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)Z)?$/.exec(key) ?? [];
  if (isAllDay !== (hour === undefined)) return undefined;
  const date = `${year}-${month}-${day}`;
  return isAllDay
    ? toMs({ dateOnly: date, timezone: zone })
    : toMs({ dateTime: `${date}T${hour}:${minute}:${second}Z` });
}

/** Of a record that says nothing of exceptions. */
type EventFields = Readonly<Record<string, unknown>> & { readonly id: string };

/** Fields that every form of an event has. */
function toView(record: EventFields, recurrenceType: "single" | "master" | "occurrence") {
  const attachments = attachmentsOf(record).map(({ content = "", ...attachment }) =>
    Object.assign(attachment, { size: Buffer.byteLength(content, "base64") }),
  );
  return {
    ...record,
    etag: etagOf(record),
    ...timesOf(record),
    recurrenceType,
    iCalUId: iCalUIdOf(record),
    globalId: `global-${record.id}`,
    attachments,
    hasAttachments: attachments.length > 0,
    omitted: [],
  } as unknown as MailboxRecord;
}

/** Of an event, with an id each. */
export function attachmentsOf({ attachments }: Readonly<Record<string, unknown>>): readonly Attachment[] {
  if (!Array.isArray(attachments)) return [];
  return (attachments as readonly Attachment[]).map((attachment, index) =>
    Object.assign({ id: `a-${index + 1}` }, attachment),
  );
}

/** Another one as soon as anything that the event says is another. */
function etagOf(record: EventFields): string {
  const { lastModifiedTime: _, ...fields } = record;
  return `"${createHash("sha1").update(JSON.stringify(fields)).digest("base64url")}"`;
}

/** A time that was given without an offset gains it. */
function timesOf(record: Readonly<Record<string, unknown>>) {
  const { start, end } = record;
  return {
    ...(start !== undefined && { start: withOffset(start) }),
    ...(end !== undefined && { end: withOffset(end) }),
  };
}

function withOffset(given: unknown): unknown {
  const time = readTime(given);
  if (time?.dateTime === undefined || hasOffset(time.dateTime)) return given;
  const ms = toMs(time);
  return ms === undefined ? given : toEventTime(ms, { zone: time.timezone ?? "UTC", isAllDay: false });
}

/** The same at a series and its occurrences. */
export function iCalUIdOf({ id, iCalUId }: EventFields): unknown {
  return iCalUId ?? `${id}@hookline.example`;
}
