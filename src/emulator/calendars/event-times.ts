import { Temporal } from "temporal-polyfill";

/** Start or end of an event: a moment, or a day. @see protocol 2.1 */
export interface EventTime {
  /** RFC 3339; without an offset it is the time of `timezone`. */
  readonly dateTime?: string | undefined;
  /** `2026-03-29`: an event of whole days. The `end` is the day after the last one. */
  readonly dateOnly?: string | undefined;
  /** IANA name. @default UTC */
  readonly timezone?: string | undefined;
}

/** From when to when an event lasts. */
export interface Span {
  /** Zone in which a series repeats. */
  readonly zone: string;
  readonly isAllDay: boolean;
  readonly startMs: number;
  readonly endMs: number;
}

/** When an event is, or the first occurrence of a series. Undefined where its record does not say it in a readable way. */
export function spanOf(event: Readonly<Record<string, unknown>>): Span | undefined {
  const start = readTime(event["start"]);
  const startMs = start && toMs(start);
  if (startMs === undefined) return undefined;
  const zone = start?.timezone ?? "UTC";
  const isAllDay = start?.dateOnly !== undefined;
  const end = readTime(event["end"]);
  const endMs = (end && toMs({ timezone: zone, ...end })) ?? startMs;
  const isLater = endMs > startMs;
  return { zone, isAllDay, startMs, endMs: isLater ? endMs : isAllDay ? addDays(startMs, 1, zone) : startMs };
}

/** Milliseconds since the epoch; undefined where it cannot be read. */
export function toMs({ dateTime, dateOnly, timezone = "UTC" }: EventTime): number | undefined {
  try {
    if (dateOnly !== undefined) return startOfDay(Temporal.PlainDate.from(dateOnly), timezone);
    if (dateTime === undefined) return undefined;
    return hasOffset(dateTime)
      ? readInstant(dateTime)
      : Temporal.PlainDateTime.from(dateTime).toZonedDateTime(timezone).epochMilliseconds;
  } catch {
    return undefined;
  }
}

/** The same span from another start on. Whole days stay whole across a change of the clock; other events last as long. */
export function moveSpan({ zone, isAllDay, startMs, endMs }: Span, newStartMs: number): Span {
  const days = isAllDay ? dayOf(startMs, zone).until(dayOf(endMs, zone)).days : 0;
  const newEndMs = isAllDay ? addDays(newStartMs, days, zone) : newStartMs + endMs - startMs;
  return { zone, isAllDay, startMs: newStartMs, endMs: newEndMs };
}

/** As the API shows it: a day, or a moment with the offset of its zone. */
export function toEventTime(ms: number, { zone, isAllDay }: Pick<Span, "zone" | "isAllDay">): EventTime {
  if (isAllDay) return { dateOnly: dayOf(ms, zone).toString(), timezone: zone };
  const local = zoned(ms, zone);
  const dateTime = local.offset === "+00:00" ? local.toInstant().toString() : local.toString({ timeZoneName: "never" });
  return { dateTime, timezone: zone };
}

/** Whether a text is the name of a zone, and no offset. */
export function isZone(text: string): boolean {
  if (!/^[a-z]/i.test(text)) return false;
  try {
    zoned(0, text);
    return true;
  } catch {
    return false;
  }
}

/** Whether a timestamp says its offset. */
export function hasOffset(dateTime: string): boolean {
  return /(?:Z|[+-]\d\d:?\d\d)$/i.test(dateTime);
}

/** Day of a moment in a zone. */
export function dayOf(ms: number, zone: string): Temporal.PlainDate {
  return zoned(ms, zone).toPlainDate();
}

/** The first moment of a day, which is not midnight where the clock leaps over it. */
export function startOfDay(day: Temporal.PlainDate, zone: string): number {
  return day.toZonedDateTime(zone).epochMilliseconds;
}

/** A time of a record, which may be anything that a test gave. */
export function readTime(time: unknown): EventTime | undefined {
  if (typeof time !== "object" || time === null) return undefined;
  const { dateTime, dateOnly, timezone } = time as Record<keyof EventTime, unknown>;
  return {
    ...(typeof dateTime === "string" && { dateTime }),
    ...(typeof dateOnly === "string" && { dateOnly }),
    ...(typeof timezone === "string" && { timezone }),
  };
}

/** Many times as fast as Temporal's, and a range of a large calendar reads every event's. */
function readInstant(dateTime: string): number | undefined {
  const ms = Date.parse(dateTime);
  return Number.isNaN(ms) ? undefined : ms;
}

function addDays(ms: number, days: number, zone: string): number {
  return startOfDay(dayOf(ms, zone).add({ days }), zone);
}

/** A moment in the form of iCalendar: `20260329T090000Z`. */
export function toBasic(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -".000Z".length)}Z`.replaceAll(/[-:]/g, "");
}

/** A day or a time in the form of iCalendar as `dateOnly` or `dateTime` has it. */
export function fromBasic(text: string): string {
  return text.replace(/^(\d{4})(\d\d)(\d\d)/, "$1-$2-$3").replace(/T(\d\d)(\d\d)/, "T$1:$2:");
}

export function zoned(ms: number, zone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone);
}
