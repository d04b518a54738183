import fc from "fast-check";
import { expect, test } from "vitest";
import type { MailboxRecord } from "../../../src/emulator/accounts/mailbox.ts";
import { availableTimes } from "../../../src/emulator/calendars/availability.ts";
import { busyTimes, toSchedule, type BusyTime } from "../../../src/emulator/calendars/busy-times.ts";
import { instancesBetween, type Window } from "../../../src/emulator/calendars/instances.ts";
import type { Interval } from "../../../src/emulator/calendars/intervals.ts";
import { datedTimes, workTimes, type Hours } from "../../../src/emulator/calendars/work-hours.ts";
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
} from "./minutes.ts";

/** For more: HOOKLINE_ROUNDS=10000. */
const RUNS = Number(process.env["HOOKLINE_ROUNDS"] ?? 150);

const zone = fc.constantFrom(...ZONES);
const window = fc
  .record({
    day: fc.oneof(
      fc.constantFrom(...BEFORE_A_CHANGE),
      fc.integer({ min: 0, max: 730 }).map((day) => isoDate(Date.UTC(2026, 0, 1 + day))),
    ),
    minute: fc.integer({ min: 0, max: DAY_MINUTES }),
    minutes: fc.integer({ min: 1, max: 4 * DAY_MINUTES }),
  })
  .map(({ day, minute, minutes }) => {
    const startMs = Date.parse(day) + minute * MINUTE_MS;
    return { startMs, endMs: startMs + minutes * MINUTE_MS };
  });

/** Times near a window. @param unitMs they begin and end at whole ones */
const near = ({ startMs, endMs }: Interval, unitMs: number, longestMinutes: number) =>
  fc
    .tuple(
      fc.integer({ min: -600, max: (endMs - startMs) / unitMs + 600 }),
      fc.oneof(fc.constant(0), fc.integer({ min: 1, max: (longestMinutes * MINUTE_MS) / unitMs })),
    )
    .map(([from, length]) => ({ startMs: startMs + from * unitMs, endMs: startMs + (from + length) * unitMs }));

const hours = fc
  .tuple(fc.integer({ min: 0, max: DAY_MINUTES }), fc.integer({ min: 0, max: DAY_MINUTES }))
  .filter(([a, b]) => a !== b)
  .map(([a, b]): Hours => ({ start: timeOfDay(Math.min(a, b)), end: timeOfDay(Math.max(a, b)) }));
const wholeDay: Hours = { start: "00:00:00", end: "24:00:00" };
const hoursOfDay = fc.oneof(
  { weight: 3, arbitrary: fc.constant([wholeDay]) },
  { weight: 2, arbitrary: fc.array(hours, { maxLength: 3 }) },
);
const days = fc.array(fc.record({ dayOfWeek: fc.constantFrom(...WEEKDAYS), workingIntervals: hoursOfDay }), {
  minLength: 4,
  maxLength: 14,
});
const dated = fc.array(
  fc.record({
    first: fc.integer({ min: -2, max: 2 }),
    last: fc.integer({ min: 0, max: 4 }),
    hours: hoursOfDay,
  }),
  { minLength: 1, maxLength: 3 },
);

/** A weekly event. It begins at an hour at which no zone changes its clock. */
const series = fc.record({
  timezone: zone,
  minute: fc.integer({ min: 4 * 60, max: 23 * 60 }),
  minutes: fc.integer({ min: 1, max: 300 }),
  daysOfWeek: fc.subarray([...WEEKDAYS], { minLength: 1 }),
  showAs: fc.constantFrom("busy", "free", "tentative", undefined),
});
type Series = typeof series extends fc.Arbitrary<infer T> ? T : never;

const calendars = window.chain((within) =>
  fc.record({
    window: fc.constant(within),
    timezone: zone,
    durationMinutes: fc.integer({ min: 1, max: 150 }),
    bufferBetweenMinutes: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 90 })),
    availabilityStep: fc.oneof(fc.constantFrom(5, 10, 15, 20, 30, 60), fc.integer({ min: 1, max: 100 })),
    people: fc.array(
      fc.record({
        timezone: zone,
        days,
        busy: fc.array(near(within, 1_000, 300), { maxLength: 4 }),
        series: fc.array(series, { maxLength: 2 }),
        free: fc.option(fc.array(near(within, MINUTE_MS, 3_000), { minLength: 1, maxLength: 3 }), { nil: undefined }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    dated: fc.option(dated, { nil: undefined }),
  }),
);

test("a time is offered exactly when the clock shows a step, every minute of it is inside the hours of each, and every minute until the end of the buffer is free", () => {
  let offered = 0;
  fc.assert(
    fc.property(calendars, ({ people, dated: datedDays, ...search }) => {
      const { window: within, timezone, durationMinutes, bufferBetweenMinutes, availabilityStep } = search;
      const day = (nth: number) => isoDate(within.startMs + nth * DAY_MINUTES * MINUTE_MS);
      const dates = datedDays?.map(({ first, last, ...rest }) => ({
        dateStartInclusive: day(first),
        dateEndInclusive: day(last),
        ...rest,
      }));
      const inside = people.flatMap((person) => [
        workTimes(person.days, person.timezone, within),
        ...(person.free === undefined ? [] : [person.free]),
      ]);
      if (dates !== undefined) inside.push(datedTimes(dates, timezone, within));
      const withBuffer = { timeMin: within.startMs, timeMax: within.endMs + bufferBetweenMinutes * MINUTE_MS };
      const busy = people.flatMap((person) => [
        ...person.busy,
        ...busyTimes(
          instancesBetween(
            person.series.map((one) => toRecord(one, within)),
            withBuffer,
          ),
          "ada@example.com",
        ),
      ]);
      const got = [...availableTimes({ ...search, inside, busy })];

      const taken = people.flatMap((person) => [
        ...person.busy,
        ...person.series.flatMap((one) => occurrencesOf(one, withBuffer)),
      ]);
      const isFree = (at: number) => !taken.some((time) => touches(time, at));
      const isWanted = (at: number) =>
        at < within.endMs &&
        people.every(
          (person) =>
            (person.free?.some((time) => time.startMs <= at && at + MINUTE_MS <= time.endMs) ?? true) &&
            person.days.some(
              ({ dayOfWeek, workingIntervals }) =>
                dayOfWeek === clock(at, person.timezone).weekday && isIn(workingIntervals, clock(at, person.timezone)),
            ),
        ) &&
        (dates?.some(
          ({ dateStartInclusive, dateEndInclusive, hours: ofDay }) =>
            dateStartInclusive <= clock(at, timezone).date &&
            clock(at, timezone).date <= dateEndInclusive &&
            isIn(ofDay, clock(at, timezone)),
        ) ??
          true);
      const free = memoized(isFree);
      const wanted = memoized(isWanted);
      const expected: Interval[] = [];
      for (let startMs = within.startMs; startMs < within.endMs; startMs += MINUTE_MS) {
        if (clock(startMs, timezone).minute % availabilityStep !== 0) continue;
        const endMs = startMs + durationMinutes * MINUTE_MS;
        if (every(startMs, endMs, wanted) && every(startMs, endMs + bufferBetweenMinutes * MINUTE_MS, free))
          expected.push({ startMs, endMs });
      }
      expect(got).toEqual(expected);
      offered += got.length;
    }),
    { numRuns: RUNS },
  );

  expect(offered).toBeGreaterThan(RUNS); // otherwise the calendars are too full to show anything
});

test("a schedule shows at every second the strongest status of the events at that time, and has no two neighbours alike", () => {
  const ranks = ["outOfOffice", "busy", "tentative", "unknown"] as const;
  const status = fc.constantFrom(...ranks);
  const seconds = fc.integer({ min: -5, max: 65 });
  const busyTime = fc
    .tuple(seconds, seconds, status)
    .map(([from, to, shown]): BusyTime => ({ startMs: from * 1_000, endMs: to * 1_000, status: shown }));
  fc.assert(
    fc.property(fc.array(busyTime, { maxLength: 12 }), (busy) => {
      const schedule = toSchedule(busy, { startMs: 0, endMs: 60_000 });
      for (let at = -5_000; at < 65_000; at += 1_000) {
        const shown = schedule.filter(({ startMs, endMs }) => startMs <= at && at < endMs);
        const there = busy.filter(({ startMs, endMs }) => startMs <= at && at < endMs);
        const strongest = ranks.find((rank) => there.some((time) => time.status === rank));
        expect(shown.map((time) => time.status)).toEqual(
          strongest === undefined || at < 0 || at >= 60_000 ? [] : [strongest],
        );
      }
      for (const [nth, { startMs, endMs, status: own }] of schedule.entries()) {
        expect(endMs).toBeGreaterThan(startMs);
        const next = schedule[nth + 1];
        if (next !== undefined) expect(next.startMs).toBeGreaterThanOrEqual(endMs);
        if (next?.startMs === endMs) expect(next.status).not.toBe(own);
      }
    }),
  );
});

/** Its first occurrence is a month before the window. */
function toRecord({ timezone, minute, minutes, daysOfWeek, showAs }: Series, { startMs }: Interval): MailboxRecord {
  const first = Date.parse(isoDate(startMs - 30 * DAY_MINUTES * MINUTE_MS)) + minute * MINUTE_MS;
  const time = (ms: number) => ({
    dateTime: new Date(ms).toISOString().slice(0, "2026-01-02T03:04:05".length),
    timezone,
  });
  return {
    id: "e-1",
    createdTime: "",
    lastModifiedTime: "",
    start: time(first),
    end: time(first + minutes * MINUTE_MS),
    recurrence: { original: "simple", simple: { pattern: { frequency: "weekly", interval: 1, daysOfWeek } } },
    ...(showAs !== undefined && { showAs }),
  };
}

/** Looks at the clock each minute, from the longest event before the window on. */
function occurrencesOf(one: Series, { timeMin, timeMax }: Window): readonly Interval[] {
  if (one.showAs === "free") return [];
  const found: Interval[] = [];
  for (let startMs = timeMin - one.minutes * MINUTE_MS; startMs < timeMax; startMs += MINUTE_MS) {
    const { weekday, minute } = clock(startMs, one.timezone);
    if (minute === one.minute && (one.daysOfWeek as readonly string[]).includes(weekday))
      found.push({ startMs, endMs: startMs + one.minutes * MINUTE_MS });
  }
  return found;
}
