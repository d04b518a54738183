import { RRuleTemporal } from "rrule-temporal";
import { Temporal } from "temporal-polyfill";
import { dayOf, startOfDay, type Span } from "./event-times.ts";

/** How a series repeats: in one of two forms. @see protocol 2.1, where it is "not shown"; the names are those of the public description */
export type Recurrence = SimpleRecurrence | ICalRecurrence;

export interface SimpleRecurrence {
  readonly original: "simple";
  readonly simple: { readonly pattern: Pattern; readonly range?: Range | undefined };
}

export interface ICalRecurrence {
  readonly original: "ical";
  /** One `RRULE`, and any number of `EXDATE` and `RDATE`. @see RFC 5545, 3.8.5 */
  readonly ical: { readonly rules: readonly string[] };
}

export interface Pattern {
  readonly frequency: "daily" | "weekly" | "monthly" | "monthlyRelative" | "yearly" | "yearlyRelative";
  readonly interval?: number | undefined;
  readonly daysOfWeek?: readonly Day[] | undefined;
  readonly weekStart?: "monday" | "sunday" | undefined;
  readonly dayOfMonth?: number | undefined;
  readonly monthOfYear?: number | undefined;
  readonly instance?: keyof typeof INSTANCES | undefined;
}

export interface Range {
  readonly type: "byDate" | "byCount" | "unbounded";
  /** The last day, `2026-03-29`. */
  readonly recurrenceEnd?: string | undefined;
  readonly count?: number | undefined;
}

export const DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const;

type Day = (typeof DAYS)[number];

export const INSTANCES = { first: 1, second: 2, third: 3, fourth: 4, last: -1 } as const;

/** How long a series goes on at most: an endless one has no last occurrence that could be asked for. */
export const MAX_SERIES_YEARS = 30;

/** More than the days of the longest series: the library throws after so many steps. */
const MAX_STEPS = 366 * (MAX_SERIES_YEARS + 1);

const DAY_MS = 86_400_000;

/** What a rule may consist of. A repetition within a day is no series of a calendar. */
const RULE_PARTS = "FREQ INTERVAL COUNT UNTIL WKST BYDAY BYMONTH BYMONTHDAY BYYEARDAY BYWEEKNO BYSETPOS".split(" ");

/**
 * The starts of a series from one moment to another, both included, in order.
 *
 * @param first the first occurrence; a rule that it does not fit begins with the first start after it that does
 */
export function startsBetween(
  recurrence: Recurrence,
  first: Span,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): readonly number[] {
  const { zone, isAllDay, startMs } = first;
  const endOfSeriesMs = Temporal.Instant.fromEpochMilliseconds(startMs)
    .toZonedDateTimeISO(zone)
    .add({ years: MAX_SERIES_YEARS }).epochMilliseconds;
  // A rule of days counts them in UTC, and a day begins in its zone up to a day before or after that.
  const leastMs = Math.max(fromMs, startMs) - DAY_MS;
  const lastMs = Math.min(toMs, endOfSeriesMs);
  if (leastMs > lastMs) return [];
  return compile(recurrence, first)
    .between(new Date(leastMs), new Date(lastMs + DAY_MS), true)
    .map(({ epochMilliseconds: ms }) => (isAllDay ? startOfDay(dayOf(ms, "UTC"), zone) : ms))
    .filter((ms) => ms >= fromMs && ms <= lastMs);
}

/** The lines of iCalendar that say the same. @see RFC 5545, 3.8.5.3 */
export function toRules(recurrence: Recurrence, first: Span): readonly string[] {
  if (recurrence.original === "ical") return recurrence.ical.rules;
  const { pattern, range } = recurrence.simple;
  const start = dayOf(first.startMs, first.zone);
  const days = (pattern.daysOfWeek ?? DAYS.slice(start.dayOfWeek - 1, start.dayOfWeek)).map(toTwoLetters).join(",");
  const month = `BYMONTH=${pattern.monthOfYear ?? start.month}`;
  const day = `BYMONTHDAY=${pattern.dayOfMonth ?? start.day}`;
  const instance = `BYDAY=${days};BYSETPOS=${INSTANCES[pattern.instance ?? "first"]}`;
  const frequency = {
    daily: "FREQ=DAILY",
    weekly: `FREQ=WEEKLY;BYDAY=${days};WKST=${toTwoLetters(pattern.weekStart ?? "monday")}`,
    monthly: `FREQ=MONTHLY;${day}`,
    monthlyRelative: `FREQ=MONTHLY;${instance}`,
    yearly: `FREQ=YEARLY;${month};${day}`,
    yearlyRelative: `FREQ=YEARLY;${month};${instance}`,
  }[pattern.frequency];
  const end = {
    byDate: `;UNTIL=${range?.recurrenceEnd?.replaceAll("-", "")}`,
    byCount: `;COUNT=${range?.count}`,
    unbounded: "",
  }[range?.type ?? "unbounded"];
  return [`RRULE:${frequency};INTERVAL=${pattern.interval ?? 1}${end}`];
}

/** Why a recurrence cannot be computed; undefined where it can. */
export function faultOf(recurrence: Recurrence, first: Span): string | undefined {
  const rules = toRules(recurrence, first);
  const rrules = rules.filter((line) => line.startsWith("RRULE:"));
  if (rrules.length !== 1) return `it has ${rrules.length} lines with an RRULE, expected one`;
  const other = rules.find((line) => !/^(?:RRULE|EXDATE|RDATE)[:;]/.test(line));
  if (other !== undefined) return `got ${JSON.stringify(other)}, expected RRULE, EXDATE or RDATE`;
  const parts = rrules[0]?.slice("RRULE:".length).split(";") ?? [];
  const part = parts.find((one) => !RULE_PARTS.includes(one.split("=")[0] ?? ""));
  if (part !== undefined) return `got ${JSON.stringify(part)}, expected ${RULE_PARTS.join(", ")}`;
  if (!parts.some((one) => /^FREQ=(?:DAILY|WEEKLY|MONTHLY|YEARLY)$/.test(one)))
    return "its FREQ is not DAILY, WEEKLY, MONTHLY or YEARLY";
  try {
    compile(recurrence, first);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function compile(recurrence: Recurrence, first: Span) {
  const lines = [toStartLine(first), ...toRules(recurrence, first)];
  return new RRuleTemporal({ rruleString: lines.join("\n"), maxIterations: MAX_STEPS });
}

function toStartLine({ zone, isAllDay, startMs }: Span): string {
  if (isAllDay) return `DTSTART;VALUE=DATE:${dayOf(startMs, zone).toString().replaceAll("-", "")}`;
  const local = Temporal.Instant.fromEpochMilliseconds(startMs).toZonedDateTimeISO(zone).toPlainDateTime();
  return `DTSTART;TZID=${zone}:${local.toString({ smallestUnit: "second" }).replaceAll(/[-:]/g, "")}`;
}

/** `monday` as iCalendar writes it. */
function toTwoLetters(day: Day): string {
  return day.slice(0, 2).toUpperCase();
}
