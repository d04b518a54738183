import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { MailboxRecord } from "../../../src/emulator/accounts/mailbox.ts";
import { instancesBetween } from "../../../src/emulator/calendars/instances.ts";

const HOUR_MS = 3_600_000;

function record(fields: object, id = "e-1"): MailboxRecord {
  return { id, createdTime: "2026-01-01T00:00:00.000Z", lastModifiedTime: "2026-01-01T00:00:00.000Z", ...fields };
}

/** Starts of what is found from one day to another, as the API shows them. */
function startsIn(records: readonly MailboxRecord[], from: string, to: string): readonly unknown[] {
  const window = { timeMin: Date.parse(from), timeMax: Date.parse(to) };
  return instancesBetween(records, window).map(({ event }) => {
    const { dateTime, dateOnly } = event["start"] as Record<string, string>;
    return dateTime ?? dateOnly;
  });
}

function series(start: object, end: object, pattern: object, range?: object): MailboxRecord {
  return record({ start, end, recurrence: { original: "simple", simple: { pattern, range } } });
}

const daily = (zone: string, from: string, to: string): MailboxRecord =>
  series({ dateTime: from, timezone: zone }, { dateTime: to, timezone: zone }, { frequency: "daily" });

describe("instances between two moments", () => {
  test("an event that ends at the first or starts at the second is outside", () => {
    const moment = fc.integer({ min: 0, max: 12 });
    fc.assert(
      fc.property(moment, moment, moment, moment, (start, lasts, timeMin, lengthOfWindow) => {
        const at = (hours: number): string => new Date(hours * HOUR_MS).toISOString();
        const event = record({ start: { dateTime: at(start) }, end: { dateTime: at(start + lasts) } });
        const window = { timeMin: timeMin * HOUR_MS, timeMax: (timeMin + lengthOfWindow) * HOUR_MS };
        const isInside = start + lasts > timeMin && start < timeMin + lengthOfWindow;
        expect(instancesBetween([event], window)).toHaveLength(isInside ? 1 : 0);
      }),
    );
  });

  test("come in order of start, series and single events together", () => {
    const lunch = daily("UTC", "2026-03-02T12:00:00Z", "2026-03-02T13:00:00Z");
    const single = record(
      { start: { dateTime: "2026-03-03T09:00:00Z" }, end: { dateTime: "2026-03-03T10:00:00Z" } },
      "e-2",
    );
    expect(startsIn([lunch, single], "2026-03-02T00:00:00Z", "2026-03-04T00:00:00Z")).toEqual([
      "2026-03-02T12:00:00Z",
      "2026-03-03T09:00:00Z",
      "2026-03-03T12:00:00Z",
    ]);
  });

  test("an event whose times cannot be read has none", () => {
    for (const start of [undefined, 7, null, {}, { dateTime: "soon" }, { dateOnly: "2026-02-30" }, { dateTime: 7 }])
      expect(startsIn([record({ start })], "1970-01-01T00:00:00Z", "2100-01-01T00:00:00Z")).toEqual([]);
  });

  test("a time without an offset is that of its zone", () => {
    const event = record({
      start: { dateTime: "2026-07-01T09:00:00", timezone: "Europe/Berlin" },
      end: { dateTime: "2026-07-01T10:00:00", timezone: "Europe/Berlin" },
    });
    expect(startsIn([event], "2026-07-01T07:59:59Z", "2026-07-01T08:00:00Z")).toEqual(["2026-07-01T09:00:00+02:00"]);
    expect(startsIn([event], "2026-07-01T08:00:00Z", "2026-07-01T12:00:00Z")).toEqual([]);
  });
});

describe("days of a zone", () => {
  const berlin = (from: string, to?: string): MailboxRecord =>
    record({
      start: { dateOnly: from, timezone: "Europe/Berlin" },
      ...(to !== undefined && { end: { dateOnly: to, timezone: "Europe/Berlin" } }),
    });

  test("last from midnight to midnight, 23 hours where the clock is put forward", () => {
    for (const event of [berlin("2026-03-29", "2026-03-30"), berlin("2026-03-29", "2026-03-29"), berlin("2026-03-29")])
      expect(instancesBetween([event], { timeMin: 0, timeMax: Infinity })).toMatchObject([
        { startMs: Date.parse("2026-03-28T23:00:00Z"), endMs: Date.parse("2026-03-29T22:00:00Z") },
      ]);
  });

  test("are found up to their end, also where a day is longer than that of the first occurrence", () => {
    const time = { timezone: "Europe/Berlin" };
    const days = series(
      { dateOnly: "2026-03-29", ...time },
      { dateOnly: "2026-03-30", ...time },
      { frequency: "daily" },
    );
    expect(startsIn([days], "2026-10-25T22:59:59Z", "2026-10-25T23:00:00Z")).toEqual(["2026-10-25"]);
  });

  test("repeat as days: none is shorter or longer than its own", () => {
    const time = { timezone: "Europe/Berlin" };
    const event = series(
      { dateOnly: "2026-03-27", ...time },
      { dateOnly: "2026-03-29", ...time },
      { frequency: "daily" },
    );
    const window = { timeMin: Date.parse("2026-03-26T00:00:00Z"), timeMax: Date.parse("2026-03-29T22:00:00Z") };
    expect(instancesBetween([event], window).map(({ startMs, endMs }) => (endMs - startMs) / HOUR_MS)).toEqual([
      48, 47, 47,
    ]);
    expect(startsIn([event], "2026-03-28T23:00:00Z", "2026-03-28T23:00:01Z")).toEqual(["2026-03-28", "2026-03-29"]);
  });
});

describe("a series", () => {
  test("keeps the time of its zone across a change of the clock", () => {
    const event = daily("Europe/Berlin", "2026-03-28T09:00:00+01:00", "2026-03-28T10:00:00+01:00");
    expect(startsIn([event], "2026-03-28T00:00:00Z", "2026-03-30T00:00:00Z")).toEqual([
      "2026-03-28T09:00:00+01:00",
      "2026-03-29T09:00:00+02:00",
    ]);
  });

  test("is as much later as the clock leaps over its time, and at the first of two times", () => {
    const spring = daily("Europe/Berlin", "2026-03-28T02:30:00+01:00", "2026-03-28T03:00:00+01:00");
    expect(startsIn([spring], "2026-03-28T00:00:00Z", "2026-03-31T00:00:00Z")).toEqual([
      "2026-03-28T02:30:00+01:00",
      "2026-03-29T03:30:00+02:00",
      "2026-03-30T02:30:00+02:00",
    ]);
    const autumn = daily("Europe/Berlin", "2026-10-24T02:30:00+02:00", "2026-10-24T03:00:00+02:00");
    expect(startsIn([autumn], "2026-10-25T00:00:00Z", "2026-10-26T00:00:00Z")).toEqual(["2026-10-25T02:30:00+02:00"]);
  });

  test("begins at its own start, also where that is the second of two times", () => {
    const event = daily("Europe/Berlin", "2026-10-25T02:30:00+01:00", "2026-10-25T03:00:00+01:00");
    expect(startsIn([event], "2026-10-24T00:00:00Z", "2026-10-27T00:00:00Z")).toEqual([
      "2026-10-25T02:30:00+01:00",
      "2026-10-26T02:30:00+01:00",
    ]);
  });

  test("shows a moved occurrence where it is now, and no deleted one", () => {
    const event = {
      ...daily("UTC", "2026-03-02T09:00:00Z", "2026-03-02T10:00:00Z"),
      exceptions: {
        "20260303T090000Z": null,
        "20260304T090000Z": { start: { dateTime: "2026-05-01T09:00:00Z" }, end: { dateTime: "2026-05-01T10:00:00Z" } },
        "20260305T090000Z": { subject: "Another" },
      },
    };
    expect(startsIn([event], "2026-03-02T00:00:00Z", "2026-03-06T00:00:00Z")).toEqual([
      "2026-03-02T09:00:00Z",
      "2026-03-05T09:00:00Z",
    ]);
    const inMay = instancesBetween([event], {
      timeMin: Date.parse("2026-05-01T00:00:00Z"),
      timeMax: Date.parse("2026-05-01T12:00:00Z"),
    });
    expect(inMay.map((instance) => instance.event["occurrenceInfo"])).toMatchObject([
      { type: "regular" },
      { type: "modified", originalStart: { dateTime: "2026-03-04T09:00:00Z" }, masterId: "e-1" },
    ]);
  });

  test("ends after 30 years, however long the window", () => {
    const event = daily("UTC", "2000-01-01T09:00:00Z", "2000-01-01T10:00:00Z");
    const found = instancesBetween([event], { timeMin: Date.parse("1900-01-01"), timeMax: Date.parse("9999-01-01") });
    expect(found).toHaveLength(10_959);
    expect(found.at(-1)?.event["start"]).toMatchObject({ dateTime: "2030-01-01T09:00:00Z" });
  });
});
