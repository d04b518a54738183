import { Temporal } from "temporal-polyfill";
import { union, type Interval } from "./intervals.ts";
import { DAYS } from "./recurrence.ts";

/** Two times of a day, `HH:MM:SS`. 24:00:00 is the end of the day. */
export interface Hours {
  readonly start: string;
  readonly end: string;
}

/** The work hours of a day of the week. A day may be listed twice, or not at all: then it is off. */
export interface DaySchedule {
  readonly dayOfWeek: (typeof DAYS)[number];
  readonly workingIntervals: readonly Hours[];
}

/** Hours of the days from one date to another, both included. */
export interface DateHours {
  readonly dateStartInclusive: string;
  readonly dateEndInclusive: string;
  readonly hours: readonly Hours[];
}

/** Who has no other work hours has these. */
export const OFFICE_HOURS: readonly DaySchedule[] = DAYS.slice(0, 5).map((dayOfWeek) => ({
  dayOfWeek,
  workingIntervals: [{ start: "09:00:00", end: "17:00:00" }],
}));

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** The stretches of a window at which the clock of the zone shows work hours. */
export function workTimes(days: readonly DaySchedule[], timezone: string, window: Interval): readonly Interval[] {
  return timesOf(timezone, window, (day) =>
    days
      .filter(({ dayOfWeek }) => dayOfWeek === DAYS.at(new Date(day).getUTCDay() - 1))
      .flatMap(({ workingIntervals }) => workingIntervals),
  );
}

/** The stretches of a window at which the clock and the calendar of the zone show one of these dates and hours. */
export function datedTimes(dated: readonly DateHours[], timezone: string, window: Interval): readonly Interval[] {
  return timesOf(timezone, window, (day) => {
    const date = new Date(day).toISOString().slice(0, "2026-01-02".length);
    return dated
      .filter(({ dateStartInclusive, dateEndInclusive }) => dateStartInclusive <= date && date <= dateEndInclusive)
      .flatMap(({ hours }) => hours);
  });
}

/** Every time at which the clock of the zone shows a whole number of steps since midnight, in order. */
export function* clockSteps(stepMinutes: number, timezone: string, window: Interval): Iterable<number> {
  for (const { startMs, endMs, offsetMs } of offsets(timezone, window))
    for (const day of daysOf(startMs + offsetMs, endMs + offsetMs))
      for (let local = day; local < day + DAY_MS; local += stepMinutes * MINUTE_MS) {
        const at = local - offsetMs;
        if (at >= startMs && at < endMs) yield at;
      }
}

function timesOf(timezone: string, window: Interval, hoursOf: (day: number) => readonly Hours[]): readonly Interval[] {
  const times: Interval[] = [];
  for (const { startMs, endMs, offsetMs } of offsets(timezone, window))
    for (const day of daysOf(startMs + offsetMs, endMs + offsetMs))
      for (const { start, end } of hoursOf(day))
        times.push({
          startMs: Math.max(startMs, day + timeOfDayMs(start) - offsetMs),
          endMs: Math.min(endMs, day + timeOfDayMs(end) - offsetMs),
        });
  return union(times);
}

/** The midnights of the days that a stretch of local time touches. Local time is counted as if it were UTC. */
function* daysOf(fromMs: number, toMs: number): Iterable<number> {
  for (let day = Math.floor(fromMs / DAY_MS) * DAY_MS; day < toMs; day += DAY_MS) yield day;
}

function timeOfDayMs(time: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = time.split(":").map(Number);
  return ((hours * 60 + minutes) * 60 + seconds) * 1_000;
}

/** A window in parts, each with one offset of the zone from UTC: so hours are right on days on which the clock is changed. */
function* offsets(timezone: string, { startMs, endMs }: Interval): Iterable<Interval & { readonly offsetMs: number }> {
  for (let from = startMs; from < endMs;) {
    const zoned = Temporal.Instant.fromEpochMilliseconds(from).toZonedDateTimeISO(timezone);
    const to = Math.min(endMs, zoned.getTimeZoneTransition("next")?.epochMilliseconds ?? endMs);
    yield { startMs: from, endMs: to, offsetMs: zoned.offsetNanoseconds / 1e6 };
    from = to;
  }
}
