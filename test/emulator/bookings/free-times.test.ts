import fc from "fast-check";
import { expect, test } from "vitest";
import { freeTimes, searchedDays } from "../../../src/emulator/bookings/free-times.ts";
import type { BookingProfile } from "../../../src/emulator/bookings/profiles.ts";
import type { Interval } from "../../../src/emulator/calendars/intervals.ts";
import type { OwnedCalendar } from "../../../src/emulator/calendars/meeting-times.ts";
import type { Hours } from "../../../src/emulator/calendars/work-hours.ts";
import {
  BEFORE_A_CHANGE,
  clock,
  DAY_MINUTES,
  every,
  isIn,
  isoDate,
  memoized,
  MINUTE_MS,
  timeOfDay,
  touches,
  WEEKDAYS,
  ZONES,
} from "../calendars/minutes.ts";

/** For more: HOOKLINE_ROUNDS=10000. */
const RUNS = Number(process.env["HOOKLINE_ROUNDS"] ?? 150);
const DAY_MS = DAY_MINUTES * MINUTE_MS;

const required = fc.constantFrom("one" as const, "all" as const);
const hours = fc
  .tuple(fc.integer({ min: 0, max: DAY_MINUTES }), fc.integer({ min: 0, max: DAY_MINUTES }))
  .filter(([a, b]) => a !== b)
  .map(([a, b]): Hours => ({ start: timeOfDay(Math.min(a, b)), end: timeOfDay(Math.max(a, b)) }));
const workingIntervals = fc.oneof(
  fc.constant<readonly Hours[]>([{ start: "00:00:00", end: "24:00:00" }]),
  fc.array(hours, { minLength: 1, maxLength: 2 }),
);
const members = fc.uniqueArray(fc.integer({ min: 1, max: 3 }), { maxLength: 3 });
/** Minutes since the first day that is searched. */
const minute = fc.integer({ min: -DAY_MINUTES, max: 3 * DAY_MINUTES });
const taken = fc.array(fc.tuple(minute, fc.integer({ min: 1, max: 400 })), { maxLength: 4 });

const searches = fc.record({
  fromDate: fc.constantFrom(...BEFORE_A_CHANGE),
  days: fc.integer({ min: 1, max: 2 }),
  zone: fc.constantFrom(...ZONES),
  now: minute,
  ahead: fc.integer({ min: 1, max: 4 }),
  startAfterMinutes: fc.constantFrom(0, 0, 45, 600),
  startTime: fc.option(minute, { nil: undefined }),
  endTime: fc.option(minute, { nil: undefined }),
  durationMinutes: fc.integer({ min: 1, max: 150 }),
  bufferBetweenMinutes: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 90 })),
  availabilityStep: fc.constantFrom(5, 7, 15, 30, 60),
  daySchedules: fc.array(fc.record({ dayOfWeek: fc.constantFrom(...WEEKDAYS), workingIntervals }), {
    minLength: 3,
    maxLength: 10,
  }),
  accountIds: members,
  groups: fc.array(fc.record({ accountIds: members, required }), { maxLength: 2 }),
  required,
  /** Of the accounts 1 to 3; none for one that cannot be booked. */
  people: fc.tuple(
    ...[1, 2, 3].map(() => fc.option(fc.record({ events: taken, held: taken }), { nil: undefined, freq: 8 })),
  ),
});

test("the free times of a profile are those that a walk through every minute finds, for one or all of its accounts and groups", () => {
  let found = 0;
  fc.assert(
    fc.property(searches, ({ people, groups, ...search }) => {
      const { fromDate, days, zone, ahead, durationMinutes, bufferBetweenMinutes, availabilityStep } = search;
      const firstMs = Date.parse(fromDate);
      const at = (minutes: number): number => firstMs + minutes * MINUTE_MS;
      const toIntervals = (list: readonly (readonly [number, number])[]): readonly Interval[] =>
        list.map(([from, lasts]) => ({ startMs: at(from), endMs: at(from + lasts) }));
      const toText = (minutes: number | undefined) =>
        minutes === undefined ? undefined : new Date(at(minutes)).toISOString();
      const profile: BookingProfile = {
        id: 1,
        ownerId: undefined,
        fields: {
          durationMinutes,
          bufferBetweenMinutes,
          availabilityStep,
          startAfterMinutes: search.startAfterMinutes,
          startTime: toText(search.startTime),
          endTime: toText(search.endTime),
          timeAvailableFor: `${ahead}D`,
          workHours: { timezone: zone, daySchedules: search.daySchedules },
        },
        accountIds: search.accountIds,
        groups: groups.map((group, nth) => ({ extId: `g-${nth}`, ...group })),
      };
      const now = at(search.now);
      const window = searchedDays(profile.fields, { now, fromDate, intervalLength: `P${days}D` });
      expect(window.nextDate).toBe(isoDate(firstMs + days * DAY_MS));
      const got = freeTimes(profile, {
        now,
        window,
        required: search.required,
        bookable(id) {
          const person = people[id - 1];
          return person && { calendar: calendarOf(toIntervals(person.events)), held: toIntervals(person.held) };
        },
      });

      const latest = laterBy(now, ahead, zone);
      const earliestMs = Math.max(now + search.startAfterMinutes * MINUTE_MS, at(search.startTime ?? -1e6));
      const latestMs = Math.min(latest, at(search.endTime ?? 1e6));
      const isWork = memoized((ms) =>
        search.daySchedules.some(
          ({ dayOfWeek, workingIntervals: worked }) =>
            dayOfWeek === clock(ms, zone).weekday && isIn(worked, clock(ms, zone)),
        ),
      );
      const isFree = people.map((person) => {
        if (person === undefined) return () => false;
        const busy = [...toIntervals(person.events), ...toIntervals(person.held)];
        return memoized((ms) => !busy.some((time) => touches(time, ms)));
      });
      const isOpen = (id: number, from: number, to: number): boolean =>
        every(from, to, isWork) && every(from, to + bufferBetweenMinutes * MINUTE_MS, isFree[id - 1] ?? (() => false));
      const expected: object[] = [];
      for (let ms = firstMs - DAY_MS; ms < firstMs + (days + 1) * DAY_MS; ms += MINUTE_MS) {
        const { date, minute: shown } = clock(ms, zone);
        const endMs = ms + durationMinutes * MINUTE_MS;
        if (date < fromDate || date >= isoDate(firstMs + days * DAY_MS) || shown % availabilityStep !== 0) continue;
        if (ms < earliestMs || endMs > latestMs) continue;
        const open = new Set([1, 2, 3].filter((id) => isOpen(id, ms, endMs)));
        const accountIds = search.accountIds.filter((id) => open.has(id));
        const groupXids = groups.flatMap((group, nth) => {
          const there = group.accountIds.filter((id) => open.has(id)).length;
          return there > 0 && (group.required === "one" || there === group.accountIds.length) ? [`g-${nth}`] : [];
        });
        const units = search.accountIds.length + groups.length;
        const free = accountIds.length + groupXids.length;
        if (free > 0 && (search.required === "one" || free === units))
          expected.push({ startMs: ms, endMs, accountIds, groupXids });
      }
      expect(
        got.map(({ startMs, endMs, accountIds, groups: ofTime }) => ({
          startMs,
          endMs,
          accountIds,
          groupXids: ofTime.map(({ extId }) => extId),
        })),
      ).toEqual(expected);
      found += got.length;
    }),
    { numRuns: RUNS },
  );
  expect(found).toBeGreaterThan(RUNS);
});

function calendarOf(events: readonly Interval[]): OwnedCalendar {
  const time = (ms: number) => ({ dateTime: new Date(ms).toISOString(), timezone: "UTC" });
  const records = events.map(({ startMs, endMs }, nth) => ({
    id: `e-${nth}`,
    createdTime: "",
    lastModifiedTime: "",
    start: time(startMs),
    end: time(endMs),
  }));
  const calendar = {
    records: new Map(records.map((record) => [record.id, record])),
    owner: { email: "a@example.com" },
  };
  return calendar as unknown as OwnedCalendar;
}

/** When the clock shows the same as now, so many days later; as much later as it leaps over that. */
function laterBy(now: number, days: number, zone: string): number {
  const { date, minute: shown } = clock(now, zone);
  const wanted = isoDate(Date.parse(date) + days * DAY_MS);
  for (let ms = now + days * DAY_MS - 120 * MINUTE_MS; ms < now + days * DAY_MS + 120 * MINUTE_MS; ms += MINUTE_MS) {
    const there = clock(ms, zone);
    if (there.date === wanted && there.minute === shown) return ms;
  }
  return now + days * DAY_MS;
}
