/** A simple recurrence, computed in a slow and obvious way: each day of some years is looked at, and zones are asked of Intl. */
export interface SlowSeries {
  readonly zone: string;
  /** Local start: `2026-03-29`. */
  readonly day: string;
  /** Local start: `02:30`; undefined for whole days. */
  readonly time: string | undefined;
  readonly pattern: {
    readonly frequency: string;
    readonly interval: number;
    readonly daysOfWeek: readonly string[];
    readonly weekStart: string;
    readonly dayOfMonth: number;
    readonly monthOfYear: number;
    readonly instance: string;
  };
  readonly range: { readonly type: string; readonly count?: number; readonly recurrenceEnd?: string };
}

const WEEK = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const DAY_MS = 86_400_000;
/** How many hours the clock of a zone may be ahead, or behind. */
const EAST = 11;
const WEST = 5;

/** Starts within so many days, milliseconds since the epoch. */
export function slowStarts(series: SlowSeries, days: number): readonly number[] {
  const { day: first, range } = series;
  const starts: number[] = [];
  for (let nth = 0; nth < days; nth += 1) {
    const day = addDays(first, nth);
    if (range.type === "byDate" && day > (range.recurrenceEnd ?? "")) break;
    if (range.type === "byCount" && starts.length === range.count) break;
    if (isOn(series, day)) starts.push(startOn(day, series));
  }
  return starts;
}

function isOn({ day: first, pattern }: SlowSeries, day: string): boolean {
  const { frequency, interval, daysOfWeek, dayOfMonth, monthOfYear, instance } = pattern;
  const isFrequency = (unit: number): boolean => unit % interval === 0;
  const [year, month, date] = parts(day);
  const [firstYear, firstMonth] = parts(first);
  const months = (year - firstYear) * 12 + month - firstMonth;
  const isNthOfMonth = nthOf(matchesOfMonth(day, daysOfWeek), instance) === day;
  switch (frequency) {
    case "daily":
      return isFrequency(daysFrom(first, day));
    case "weekly": {
      const weeks = daysFrom(weekOf(first, pattern.weekStart), weekOf(day, pattern.weekStart)) / 7;
      return isFrequency(weeks) && daysOfWeek.includes(weekdayOf(day));
    }
    case "monthly":
      return isFrequency(months) && date === dayOfMonth;
    case "monthlyRelative":
      return isFrequency(months) && isNthOfMonth;
    case "yearly":
      return isFrequency(year - firstYear) && month === monthOfYear && date === dayOfMonth;
    default:
      return isFrequency(year - firstYear) && month === monthOfYear && isNthOfMonth;
  }
}

function matchesOfMonth(day: string, daysOfWeek: readonly string[]): readonly string[] {
  const days = Array.from({ length: 31 }, (_, nth) => addDays(`${day.slice(0, 7)}-01`, nth));
  return days.filter((one) => one.slice(0, 7) === day.slice(0, 7) && daysOfWeek.includes(weekdayOf(one)));
}

function nthOf(days: readonly string[], instance: string): string | undefined {
  return days.at(["first", "second", "third", "fourth"].indexOf(instance));
}

/** The first day of the week that the day is in. */
function weekOf(day: string, weekStart: string): string {
  for (let back = 0; ; back += 1) if (weekdayOf(addDays(day, -back)) === weekStart) return addDays(day, -back);
}

/** A time that the clock leaps over is a day after the same time of the day before. */
function startOn(day: string, { zone, time = "00:00" }: SlowSeries): number {
  return toUtc(day, time, zone) ?? (toUtc(addDays(day, -1), time, zone) ?? 0) + DAY_MS;
}

/** The moment when a zone's clock shows this, the first one of two; undefined where it never does. */
export function toUtc(day: string, time: string, zone: string): number | undefined {
  const asUtc = Date.parse(`${day}T${time}:00Z`);
  for (let hours = -EAST; hours <= WEST; hours += 0.5) {
    const ms = asUtc + hours * 3_600_000;
    if (localTime(ms, zone) === `${day} ${time}`) return ms;
  }
  return undefined;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** `2026-03-29 02:30` */
function localTime(ms: number, timeZone: string): string {
  const format =
    formats.get(timeZone) ?? new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });
  formats.set(timeZone, format);
  return format.format(ms);
}

function addDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
}

function daysFrom(first: string, day: string): number {
  return (Date.parse(day) - Date.parse(first)) / DAY_MS;
}

function weekdayOf(day: string): string {
  return WEEK[new Date(day).getUTCDay()] ?? "";
}

function parts(day: string): readonly [number, number, number] {
  return day.split("-").map(Number) as [number, number, number];
}
