import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { instancesBetween } from "../../../src/emulator/calendars/instances.ts";
import { slowStarts, toUtc, type SlowSeries } from "./slow-series.ts";

const DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
/** Clocks are put forward and back in each: in the north, in the south, and by half an hour. */
const ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"];
const WALKED_DAYS = 2 * 366;

const day = fc
  .integer({ min: Date.parse("2025-01-01"), max: Date.parse("2026-12-31") })
  .map((ms) => new Date(ms).toISOString().slice(0, 10));

const simple: fc.Arbitrary<SlowSeries> = fc.record({
  zone: fc.constantFrom(...ZONES),
  day,
  time: fc.constantFrom(undefined, "00:00", "01:30", "02:00", "02:15", "02:30", "03:00", "12:00", "23:45"),
  pattern: fc.record({
    frequency: fc.constantFrom("daily", "weekly", "monthly", "monthlyRelative", "yearly", "yearlyRelative"),
    interval: fc.integer({ min: 1, max: 4 }),
    daysOfWeek: fc.uniqueArray(fc.constantFrom(...DAYS), { minLength: 1, maxLength: 4 }),
    weekStart: fc.constantFrom("monday", "sunday"),
    dayOfMonth: fc.integer({ min: 1, max: 31 }),
    monthOfYear: fc.integer({ min: 1, max: 12 }),
    instance: fc.constantFrom("first", "second", "third", "fourth", "last"),
  }),
  range: fc.oneof(
    fc.constant({ type: "unbounded" }),
    fc.record({ type: fc.constant("byCount"), count: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ type: fc.constant("byDate"), recurrenceEnd: day }),
  ),
});

function recordOf(fields: object) {
  return { id: "e-1", createdTime: "2026-01-01T00:00:00Z", lastModifiedTime: "2026-01-01T00:00:00Z", ...fields };
}

/** The record of a series whose occurrences last no time, or a day. */
function toRecord({ zone, day: first, time, pattern, range }: SlowSeries) {
  const startMs = toUtc(first, time ?? "00:00", zone);
  const start = time === undefined ? { dateOnly: first } : { dateTime: new Date(startMs ?? 0).toISOString() };
  return recordOf({ start: { ...start, timezone: zone }, recurrence: { simple: { pattern, range } } });
}

describe("a simple recurrence", () => {
  test("has the starts that a walk through each day finds, in three zones over two years", () => {
    fc.assert(
      fc.property(simple, (series) => {
        const firstMs = toUtc(series.day, series.time ?? "00:00", series.zone);
        fc.pre(firstMs !== undefined);
        const starts = slowStarts(series, WALKED_DAYS);
        const window = { timeMin: 0, timeMax: firstMs + (WALKED_DAYS - 2) * 86_400_000 };
        const found = instancesBetween([toRecord(series)], window).map(({ startMs }) => startMs);
        expect(found).toEqual(starts.filter((startMs) => startMs < window.timeMax));
      }),
      { numRuns: 80 },
    );
  });

  test("has them in every window of them", () => {
    fc.assert(
      fc.property(simple, fc.nat(500), fc.nat(90), (series, from, days) => {
        const firstMs = toUtc(series.day, series.time ?? "00:00", series.zone);
        fc.pre(firstMs !== undefined);
        const record = toRecord(series);
        const all = instancesBetween([record], { timeMin: 0, timeMax: firstMs + WALKED_DAYS * 86_400_000 });
        const timeMin = firstMs + from * 86_400_000 - 43_200_000;
        const window = { timeMin, timeMax: timeMin + days * 86_400_000 };
        const found = instancesBetween([record], window).map(({ startMs }) => startMs);
        const inside = all.filter(({ startMs, endMs }) => endMs > window.timeMin && startMs < window.timeMax);
        expect(found).toEqual(inside.map(({ startMs }) => startMs));
      }),
    );
  });

  test("takes from its start what the pattern does not say", () => {
    const startsOf = (pattern: object, count: number) => {
      const recurrence = { simple: { pattern, range: { type: "byCount", count } } };
      const record = recordOf({ start: { dateOnly: "2026-03-11" }, recurrence });
      return instancesBetween([record], { timeMin: 0, timeMax: Infinity }).map(
        ({ event }) => (event["start"] as { readonly dateOnly: string }).dateOnly,
      );
    };
    expect(startsOf({ frequency: "weekly" }, 2)).toEqual(["2026-03-11", "2026-03-18"]);
    expect(startsOf({ frequency: "monthly" }, 2)).toEqual(["2026-03-11", "2026-04-11"]);
    expect(startsOf({ frequency: "monthlyRelative", instance: "second" }, 2)).toEqual(["2026-03-11", "2026-04-08"]);
    expect(startsOf({ frequency: "yearly" }, 2)).toEqual(["2026-03-11", "2027-03-11"]);
  });
});

describe("a recurrence of iCalendar", () => {
  /** Days of a series at nine in New York. */
  function daysOf(start: string, ...rules: readonly string[]): readonly string[] {
    const time = { dateTime: `${start}T09:00:00`, timezone: "America/New_York" };
    const record = recordOf({ start: time, end: time, recurrence: { ical: { rules } } });
    const window = { timeMin: Date.parse("1990-01-01"), timeMax: Date.parse("2026-01-01") };
    return instancesBetween([record], window).map(({ event }) =>
      (event["start"] as { readonly dateTime: string }).dateTime.slice(0, 10),
    );
  }

  // Examples of RFC 5545, 3.8.5.3
  test.each([
    ["1997-09-02", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,TH;WKST=SU", "1997-09-02 1997-09-04 1997-09-16 1997-09-18"],
    ["1997-09-05", "FREQ=MONTHLY;COUNT=4;BYDAY=1FR", "1997-09-05 1997-10-03 1997-11-07 1997-12-05"],
    ["1997-09-22", "FREQ=MONTHLY;COUNT=3;BYDAY=-2MO", "1997-09-22 1997-10-20 1997-11-17"],
    ["1997-09-28", "FREQ=MONTHLY;COUNT=3;BYMONTHDAY=-3", "1997-09-28 1997-10-29 1997-11-28"],
    ["1997-01-01", "FREQ=YEARLY;INTERVAL=3;COUNT=4;BYYEARDAY=1,100", "1997-01-01 1997-04-10 2000-01-01 2000-04-09"],
    ["1997-05-12", "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO;COUNT=3", "1997-05-12 1998-05-11 1999-05-17"],
    ["1997-08-05", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "1997-08-05 1997-08-10 1997-08-19 1997-08-24"],
    ["1997-08-05", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "1997-08-05 1997-08-17 1997-08-19 1997-08-31"],
    ["2007-01-15", "FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5", "2007-01-15 2007-01-30 2007-02-15 2007-03-15 2007-03-30"],
    ["1997-09-02", "FREQ=DAILY;UNTIL=19970904T130000Z", "1997-09-02 1997-09-03 1997-09-04"],
    ["1997-09-02", "FREQ=DAILY;UNTIL=19970904T125959Z", "1997-09-02 1997-09-03"],
  ])("from %s: %s", (start, rule, days) => {
    expect(daysOf(start, `RRULE:${rule}`)).toEqual(days.split(" "));
  });

  test("a start that two lines say comes once, also where only a change of the clock makes it the same", () => {
    const start = { dateTime: "2026-03-28T02:30:00", timezone: "Europe/Berlin" };
    const rules = ["RRULE:FREQ=DAILY;COUNT=2", "RDATE;TZID=Europe/Berlin:20260329T033000"];
    const found = instancesBetween([recordOf({ start, recurrence: { ical: { rules } } })], {
      timeMin: 0,
      timeMax: Infinity,
    });
    expect(found).toHaveLength(2);
  });

  test("leaves out EXDATE and adds RDATE", () => {
    const rules = [
      "RRULE:FREQ=DAILY;COUNT=3",
      "EXDATE;TZID=America/New_York:20250102T090000",
      "RDATE;TZID=America/New_York:20250110T090000",
    ];
    expect(daysOf("2025-01-01", ...rules)).toEqual(["2025-01-01", "2025-01-03", "2025-01-10"]);
  });
});
