import { Temporal } from "temporal-polyfill";
import type { MailboxRecord } from "../accounts/mailbox.ts";
import {
  dayOf,
  fromBasic,
  moveSpan,
  readTime,
  spanOf,
  startOfDay,
  toBasic,
  toEventTime,
  toMs,
  type EventTime,
  type Span,
} from "./event-times.ts";
import { RECURRENCE, toLines, toRule, type Recurrence, type Rule } from "./recurrence.ts";

/** What is different at occurrences of a series, by the key of each: changed fields, or null where it was deleted. */
type Exceptions = Readonly<Record<string, Readonly<Record<string, unknown>> | null>>;

/** A series. All of it is in one record: the master's fields, and `exceptions`, which the API does not show. */
export interface Series {
  readonly master: MailboxRecord;
  readonly recurrence: Recurrence;
  /** Of iCalendar, which say the same. */
  readonly lines: readonly string[];
  readonly rule: Rule;
  readonly first: Span;
  readonly exceptions: Exceptions;
}

/** What names an occurrence. @see protocol 2.1 */
interface OccurrenceInfo {
  readonly id: string;
  readonly type: "regular" | "modified" | "deleted";
  readonly originalStart: EventTime;
  readonly start: EventTime;
  readonly masterId: string;
}

/** A record is replaced as soon as it changes. */
const known = new WeakMap<MailboxRecord, Series | undefined>();

/** The series of a record; undefined for an event that does not repeat, or whose recurrence cannot be read. */
export function seriesOf(record: MailboxRecord): Series | undefined {
  if (record["recurrence"] === undefined) return undefined;
  if (!known.has(record)) known.set(record, readSeries(record));
  return known.get(record);
}

function readSeries(master: MailboxRecord): Series | undefined {
  try {
    return toSeries(master);
  } catch {
    return undefined;
  }
}

/** @throws Error that says why there is none */
export function toSeries(master: MailboxRecord): Series {
  const first = spanOf(master);
  if (first === undefined) throw new Error("the event has no start that can be read");
  const recurrence = RECURRENCE.parse(master["recurrence"]);
  const lines = toLines(recurrence, first);
  const exceptions = (master["exceptions"] ?? {}) as Exceptions;
  return { master, recurrence, lines, rule: toRule(lines, first), first, exceptions };
}

/** Whether a series has an occurrence that starts at that time, as its rule says: deleted or moved ones as well. */
export function hasStart({ rule }: Series, originalStartMs: number): boolean {
  return rule.startsBetween(originalStartMs, originalStartMs).length > 0;
}

/** Original starts of the occurrences that are not as the others, in order. An exception at which the rule has no start any more counts for nothing. */
export function exceptionStarts(series: Series): readonly number[] {
  return Object.keys(series.exceptions)
    .toSorted()
    .flatMap((key) => readKey(key, series.first) ?? [])
    .filter((startMs) => hasStart(series, startMs));
}

/** The start that a text says: a timestamp, or the day of the start in the zone of the series. Undefined where there is none on that day. */
export function startAt({ rule, first: { isAllDay, zone } }: Series, text: string): number | undefined {
  const isDay = !text.includes("T");
  if (!isDay && !isAllDay) return Math.floor(Date.parse(text) / 1_000) * 1_000;
  const day = isDay ? Temporal.PlainDate.from(text) : dayOf(Date.parse(text), zone);
  return rule.startsBetween(startOfDay(day, zone), startOfDay(day.add({ days: 1 }), zone) - 1)[0];
}

export function toOccurrenceInfo({ master, first, exceptions }: Series, originalStartMs: number): OccurrenceInfo {
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
export function toKey(originalStartMs: number, { zone, isAllDay }: Span): string {
  return isAllDay ? dayOf(originalStartMs, zone).toString().replaceAll("-", "") : toBasic(originalStartMs);
}

/** The moment behind a key; undefined where it is none of this series. */
export function readKey(key: string, { zone, isAllDay }: Span): number | undefined {
  if (isAllDay === key.includes("T")) return undefined;
  return toMs(isAllDay ? { dateOnly: fromBasic(key), timezone: zone } : { dateTime: fromBasic(key) });
}

/** The master's id and the key in an occurrence's id; undefined where the id is none. */
export function readOccurrenceId(id: string): { readonly masterId: string; readonly key: string } | undefined {
  const [, masterId, key] = /^(.+)_(\d{8}(?:T\d{6}Z)?)$/.exec(id) ?? [];
  return masterId === undefined || key === undefined ? undefined : { masterId, key };
}
