import { RRuleTemporal } from "rrule-temporal";
import * as z from "zod";
import { EVENT_TIME } from "./event-time-schema.ts";
import { dayOf, fromBasic, toBasic, toMs, zoned, type Span } from "./event-times.ts";

export const DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const;

const INSTANCES = { first: 1, second: 2, third: 3, fourth: 4, last: -1 } as const;

/** The library computes no dates out of bounds. */
const MAX_INTERVAL = 999;

const SIMPLE = z.object({
  pattern: z.object({
    frequency: z.enum(["daily", "weekly", "monthly", "monthlyRelative", "yearly", "yearlyRelative"]),
    interval: z.int().min(1).max(MAX_INTERVAL).default(1),
    daysOfWeek: z.array(z.enum(DAYS)).min(1).optional(),
    weekStart: z.enum(["monday", "sunday"]).default("monday"),
    dayOfMonth: z.int().min(1).max(31).optional(),
    monthOfYear: z.int().min(1).max(12).optional(),
    instance: z.enum(Object.keys(INSTANCES) as [keyof typeof INSTANCES]).default("first"),
  }),
  range: z
    .discriminatedUnion("type", [
      z.object({ type: z.literal("unbounded") }),
      z.object({ type: z.literal("byCount"), count: z.int().min(1) }),
      /** `recurrenceEnd` is the last day. */
      z.object({ type: z.literal("byDate"), recurrenceEnd: z.iso.date() }),
    ])
    .default({ type: "unbounded" }),
});

const ICAL = z.object({
  /** One `RRULE`, and any number of `EXDATE` and `RDATE`. @see RFC 5545, 3.8.5 */
  rules: z.array(z.string()).min(1),
  /** That of the event counts. */
  recurrenceStart: EVENT_TIME.optional(),
});

/**
 * How a series repeats: in one of two forms. Where both are given, `original` says which one counts.
 *
 * @see protocol 2.1, where it is "not shown"; the names are those of the service's public description
 */
export const RECURRENCE = z
  .object({ original: z.enum(["simple", "ical"]).optional(), simple: SIMPLE.optional(), ical: ICAL.optional() })
  .refine(({ simple, ical }) => simple !== undefined || ical !== undefined, {
    path: ["simple"],
    error: "expected simple or ical",
  })
  .transform(({ original, simple, ical }) =>
    simple === undefined || (original === "ical" && ical !== undefined)
      ? ({ original: "ical", ical: { rules: ical?.rules ?? [] } } as const)
      : ({ original: "simple", simple } as const),
  );

export type Recurrence = z.output<typeof RECURRENCE>;

/** How long a series goes on at most: an endless one has no last occurrence that could be asked for. */
const MAX_YEARS = 30;

/** More than the days of the longest series: the library throws after so many steps. */
const MAX_STEPS = 366 * (MAX_YEARS + 1);

const DAY_MS = 86_400_000;

/** Of one series, for which its starts are kept. */
const MAX_WINDOWS = 64;

/** What a rule may consist of. A repetition within a day is no series of a calendar. */
const RULE_PARTS = "FREQ INTERVAL COUNT UNTIL WKST BYDAY BYMONTH BYMONTHDAY BYYEARDAY BYWEEKNO BYSETPOS".split(" ");

/** A recurrence that can be computed. */
export interface Rule {
  /** Starts from one moment to another, both included, in order. */
  startsBetween(fromMs: number, untilMs: number): readonly number[];
}

/**
 * The starts of a series. The rule is computed with the times that a clock in the zone shows: so a change of the clock disturbs no count, and
 * a start at a time that the clock leaps over is as much later as it leaps.
 *
 * @param lines of iCalendar
 * @param first the first occurrence; a rule that it does not fit begins with the first start after it that does
 * @throws Error that says what is wrong with the rules
 */
export function toRule(lines: readonly string[], first: Span): Rule {
  assertRules(lines);
  const { zone, isAllDay } = first;
  const firstMs = Math.floor(first.startMs / 1_000) * 1_000;
  const firstClockMs = toClockMs(firstMs, zone);
  const rruleString = isAllDay
    ? [`DTSTART;VALUE=DATE:${toBasic(firstClockMs).slice(0, "20260329".length)}`, ...lines]
    : [`DTSTART:${toBasic(firstClockMs)}`, ...lines.map((line) => toClockLine(line, zone))];
  const rule = new RRuleTemporal({ rruleString: rruleString.join("\n"), maxIterations: MAX_STEPS, strict: true });
  const endMs = zoned(firstClockMs, "UTC").add({ years: MAX_YEARS }).epochMilliseconds;
  const known = new Map<string, readonly number[]>();
  return {
    startsBetween(fromMs, untilMs) {
      const window = `${fromMs} ${untilMs}`;
      const kept = known.get(window);
      if (kept !== undefined) return kept;
      const starts = startsIn(fromMs, untilMs);
      if (known.size >= MAX_WINDOWS) known.clear();
      known.set(window, starts);
      return starts;
    },
  };

  function startsIn(fromMs: number, untilMs: number): readonly number[] {
    // No clock is a day ahead or behind.
    const leastMs = Math.max(fromMs, firstMs) - DAY_MS;
    const mostMs = Math.min(untilMs + DAY_MS, endMs);
    if (leastMs > mostMs) return [];
    const starts = rule
      .between(new Date(leastMs), new Date(mostMs), true)
      // Of two moments with one time the first is taken, except by the event itself, which says which one it means.
      .map(({ epochMilliseconds: clockMs }) => (clockMs === firstClockMs ? firstMs : fromClockMs(clockMs, zone)));
    return [...new Set(starts)].filter((ms) => ms >= fromMs && ms <= untilMs);
  }
}

/** The lines of iCalendar that say the same. @see RFC 5545, 3.8.5.3 */
export function toLines(recurrence: Recurrence, first: Span): readonly string[] {
  if (recurrence.original === "ical") return recurrence.ical.rules;
  const { pattern, range } = recurrence.simple;
  const start = dayOf(first.startMs, first.zone);
  const days = (pattern.daysOfWeek ?? DAYS.slice(start.dayOfWeek - 1, start.dayOfWeek)).map(toTwoLetters).join(",");
  const month = `BYMONTH=${pattern.monthOfYear ?? start.month}`;
  const day = `BYMONTHDAY=${pattern.dayOfMonth ?? start.day}`;
  const instance = `BYDAY=${days};BYSETPOS=${INSTANCES[pattern.instance]}`;
  const frequency = {
    daily: "FREQ=DAILY",
    weekly: `FREQ=WEEKLY;BYDAY=${days};WKST=${toTwoLetters(pattern.weekStart)}`,
    monthly: `FREQ=MONTHLY;${day}`,
    monthlyRelative: `FREQ=MONTHLY;${instance}`,
    yearly: `FREQ=YEARLY;${month};${day}`,
    yearlyRelative: `FREQ=YEARLY;${month};${instance}`,
  }[pattern.frequency];
  return [`RRULE:${frequency};INTERVAL=${pattern.interval}${toEnd(range)}`];
}

function toEnd(range: z.output<typeof SIMPLE>["range"]): string {
  if (range.type === "byCount") return `;COUNT=${range.count}`;
  return range.type === "byDate" ? `;UNTIL=${range.recurrenceEnd.replaceAll("-", "")}` : "";
}

/** What the library would take, and what it would take too long for. @throws Error */
function assertRules(lines: readonly string[]): void {
  const other = lines.find((line) => !/^(?:RRULE|EXDATE|RDATE)[:;].*$/.test(line));
  if (other !== undefined) throw new Error(`got ${JSON.stringify(other)}, expected RRULE, EXDATE or RDATE`);
  const rules = lines.filter((line) => line.startsWith("RRULE"));
  if (rules.length !== 1) throw new Error(`got ${rules.length} lines with RRULE, expected one`);
  const parts = rules[0]?.replace(/^RRULE./, "").split(";") ?? [];
  const part = parts.find((one) => !RULE_PARTS.includes(one.split("=")[0] ?? ""));
  if (part !== undefined) throw new Error(`got ${JSON.stringify(part)}, expected ${RULE_PARTS.join(", ")}`);
  const interval = parts.find((one) => one.startsWith("INTERVAL="))?.slice("INTERVAL=".length);
  if (Number(interval ?? 1) > MAX_INTERVAL)
    throw new Error(`got INTERVAL=${interval}, expected at most ${MAX_INTERVAL}`);
  if (!parts.some((one) => /^FREQ=(?:DAILY|WEEKLY|MONTHLY|YEARLY)$/.test(one)))
    throw new Error("expected FREQ=DAILY, WEEKLY, MONTHLY or YEARLY");
}

/** A line with its times as a clock in the zone shows them. The day of an UNTIL is its end. @throws Error */
function toClockLine(line: string, zone: string): string {
  const [, from = zone] = /;TZID=([^:;]+)/.exec(line) ?? [];
  const withTime = line.replace(/(;UNTIL=\d{8})(?=;|$)/, "$1T235959");
  return withTime.replace(/;TZID=[^:;]+/, "").replaceAll(/\d{8}T\d{6}Z?/g, (text) => {
    const ms = toMs({ dateTime: fromBasic(text), timezone: from });
    if (ms === undefined) throw new Error(`got ${text} in the zone ${JSON.stringify(from)}, which is no time`);
    return toBasic(toClockMs(ms, zone));
  });
}

/** What a clock in the zone shows, as milliseconds: as if it were UTC. */
function toClockMs(ms: number, zone: string): number {
  return zoned(ms, zone).toPlainDateTime().toZonedDateTime("UTC").epochMilliseconds;
}

function fromClockMs(clockMs: number, zone: string): number {
  return zoned(clockMs, "UTC").toPlainDateTime().toZonedDateTime(zone).epochMilliseconds;
}

/** `monday` as iCalendar writes it. */
function toTwoLetters(day: (typeof DAYS)[number]): string {
  return day.slice(0, 2).toUpperCase();
}
