import type { Interval } from "../../../src/emulator/calendars/intervals.ts";
import type { Hours } from "../../../src/emulator/calendars/work-hours.ts";

export const MINUTE_MS = 60_000;
export const DAY_MINUTES = 1_440;

export const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"] as const;

/** Two of them change their clocks by an hour, one by half an hour, on other days; one never, and is half an hour off. */
export const ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"];

/** The days before some of them do in two years. */
export const BEFORE_A_CHANGE = [
  "2026-03-07",
  "2026-03-28",
  "2026-04-03",
  "2026-10-02",
  "2026-10-24",
  "2026-10-31",
  "2027-03-13",
  "2027-03-27",
  "2027-04-02",
  "2027-10-01",
  "2027-10-30",
  "2027-11-06",
];

export function touches({ startMs, endMs }: Interval, minute: number): boolean {
  return startMs < endMs && startMs < minute + MINUTE_MS && endMs > minute;
}

export function every(from: number, to: number, holds: (minute: number) => boolean): boolean {
  for (let minute = from; minute < to; minute += MINUTE_MS) if (!holds(minute)) return false;
  return true;
}

export function memoized(holds: (minute: number) => boolean): (minute: number) => boolean {
  const known = new Map<number, boolean>();
  return (minute) => {
    const result = known.get(minute) ?? holds(minute);
    known.set(minute, result);
    return result;
  };
}

interface Clock {
  readonly date: string;
  readonly weekday: string;
  /** Since midnight, as the clock shows it. */
  readonly minute: number;
}

const formats = new Map(
  ZONES.map((timeZone) => [
    timeZone,
    new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" }),
  ]),
);
const quarters = new Map<string, Clock>();

/** What the clock of a zone shows, asked of ICU each quarter of an hour: no zone changes its clock in between. */
export function clock(at: number, timezone: string): Clock {
  const minutes = at / MINUTE_MS;
  const quarter = Math.floor(minutes / 15);
  const key = `${timezone} ${quarter}`;
  let known = quarters.get(key);
  if (known === undefined) {
    const [date = "", time = ""] =
      formats
        .get(timezone)
        ?.format(quarter * 15 * MINUTE_MS)
        .split(" ") ?? [];
    const [hour, minute] = time.split(":").map(Number);
    const weekday = WEEKDAYS[new Date(date).getUTCDay()] ?? "";
    quarters.set(key, (known = { date, weekday, minute: (hour ?? 0) * 60 + (minute ?? 0) }));
  }
  return { ...known, minute: known.minute + (minutes - quarter * 15) };
}

export function isIn(list: readonly Hours[], { minute }: Clock): boolean {
  return list.some(({ start, end }) => start <= timeOfDay(minute) && timeOfDay(minute) < end);
}

export function timeOfDay(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}:00`;
}

export function isoDate(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
