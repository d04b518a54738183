import type { Account } from "../accounts/account.ts";
import type { Calendar } from "../accounts/mailbox.ts";
import { availableTimes } from "./availability.ts";
import { busyTimes, type BusyTime } from "./busy-times.ts";
import { toEventTime } from "./event-times.ts";
import { instancesBetween, type Window } from "./instances.ts";
import type { Interval } from "./intervals.ts";
import { datedTimes, OFFICE_HOURS, workTimes, type DateHours, type DaySchedule } from "./work-hours.ts";

/** A calendar, and whose it is. */
export interface OwnedCalendar extends Calendar {
  readonly owner: Account;
}

/** Who takes part in a meeting. */
export interface Participant {
  /** What the request says of them. */
  readonly attendee: Attendee;
  /** Undefined where it cannot be seen. */
  readonly calendar?: OwnedCalendar | undefined;
}

interface Attendee {
  readonly email?: string | undefined;
  readonly timezone?: string | undefined;
  readonly workHours?: Partial<WorkHours> | undefined;
  readonly busyIntervals?: readonly Interval[] | undefined;
  readonly freeIntervals?: readonly Interval[] | undefined;
}

/** What is sought. */
export interface TimeSearch extends Window {
  readonly durationMinutes: number;
  readonly bufferBetweenMinutes: number;
  readonly availabilityStep: number;
  readonly defaultTimezone?: string | undefined;
  readonly defaultWorkHours?: Partial<WorkHours> | undefined;
  readonly availabilityIntervals?: { readonly intervals: readonly DateHours[] } | undefined;
  /** Statuses of events that do not stand in the way. */
  readonly freeStatuses: readonly string[];
}

/** When somebody works, in a zone. */
export interface WorkHours {
  readonly timezone: string | undefined;
  readonly daySchedules: readonly DaySchedule[] | undefined;
}

const MINUTE_MS = 60_000;

export function windowOf({ timeMin, timeMax }: Window): Interval {
  return { startMs: timeMin, endMs: timeMax };
}

export function busyIn({ owner, records }: OwnedCalendar, { startMs, endMs }: Interval): readonly BusyTime[] {
  return busyTimes(instancesBetween(records.values(), { timeMin: startMs, timeMax: endMs }), owner.email);
}

/** The times at which all can meet. */
export function timesOf(search: TimeSearch, participants: readonly Participant[]): Iterable<Interval> {
  const { availabilityIntervals, freeStatuses, bufferBetweenMinutes } = search;
  const window = windowOf(search);
  const withBuffer = { ...window, endMs: window.endMs + bufferBetweenMinutes * MINUTE_MS };
  const timezone = zoneOf(search);
  const inside = participants.flatMap(({ attendee }) => {
    const workHours = workHoursOf(search, attendee);
    const working = workTimes(workHours.daySchedules, workHours.timezone, window);
    return attendee.freeIntervals === undefined ? [working] : [working, attendee.freeIntervals];
  });
  if (availabilityIntervals !== undefined) inside.push(datedTimes(availabilityIntervals.intervals, timezone, window));
  const busy = participants.flatMap(({ attendee, calendar }) => [
    ...(attendee.busyIntervals ?? []),
    ...(calendar === undefined ? [] : busyIn(calendar, withBuffer)).filter(
      ({ status }) => !freeStatuses.includes(status),
    ),
  ]);
  return availableTimes({ ...search, window, timezone, inside, busy });
}

/** What is said of an attendee, or else of all, or else the usual: a mailbox of the emulator has no work hours of its own. */
export function workHoursOf(search: Partial<TimeSearch>, { workHours, timezone }: Attendee) {
  const { defaultWorkHours } = search;
  return {
    timezone: workHours?.timezone ?? timezone ?? defaultWorkHours?.timezone ?? zoneOf(search),
    daySchedules: workHours?.daySchedules ?? defaultWorkHours?.daySchedules ?? OFFICE_HOURS,
  };
}

export function zoneOf({ defaultTimezone = "UTC" }: Partial<TimeSearch>): string {
  return defaultTimezone;
}

/** A time as the API shows it. */
export function toItem({ startMs, endMs }: Interval, zone: string): { readonly start: string; readonly end: string } {
  const [start = "", end = ""] = [startMs, endMs].map((ms) => toEventTime(ms, { zone, isAllDay: false }).dateTime);
  return { start, end };
}
