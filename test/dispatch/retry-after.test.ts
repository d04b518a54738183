import fc from "fast-check";
import { retryAfter, RetryLater } from "hookline";
import { describe, expect, test } from "vitest";

const now = Date.parse("1994-11-06T08:00:00Z");
const NOT_AHEAD = 0;

/** Milliseconds from `now`. */
const delayOf = (header: string | null | undefined): number => retryAfter(header).delayMs(now);

describe("what a server asks for with Retry-After", () => {
  test.each([
    ["120", 120_000],
    [" 7 ", 7_000],
    ["0", NOT_AHEAD],
    ["007", 7_000],
    ["999999999", 999_999_999_000],
  ])("is seconds: %j", (header, delayMs) => {
    expect(delayOf(header)).toBe(delayMs);
  });

  test("is more than a number can hold, and still far ahead", () => {
    expect(delayOf("9".repeat(400))).toBeGreaterThan(1e15);
    expect(delayOf("9".repeat(400))).toBeLessThan(Infinity);
  });

  test.each(["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"])(
    "is a date in any of the three forms that a recipient must read: %s",
    (header) => {
      expect(delayOf(header)).toBe((49 * 60 + 37) * 1_000);
    },
  );

  test.each([
    ["Saturday, 06-Nov-94 08:49:37 GMT", "2094-11-06T08:49:37Z"],
    ["Wednesday, 01-Jan-10 08:49:37 GMT", "2110-01-01T08:49:37Z"],
    ["Sunday, 22-Nov-26 12:00:00 GMT", "2026-11-22T12:00:00Z"],
    ["Tuesday, 29-Feb-00 00:00:00 GMT", "2000-02-29T00:00:00Z"],
  ])("is of the century whose weekday it has: %s", (header, date) => {
    expect(retryAfter(header).when).toEqual({ at: new Date(date) });
  });

  test.each([
    null,
    undefined,
    "",
    "soon",
    "-1",
    "1.5",
    "+5",
    "1e3",
    "0x10",
    "120, 60",
    "NaN",
    "Infinity",
    "Sun, 6 Nov 1994 08:49:37 GMT",
    "Mon, 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 +0100",
    "Sun, 06 Nov 1994 25:49:37 GMT",
    "Thu, 31 Nov 1994 08:49:37 GMT",
    "1994-11-06T08:49:37Z",
    "Invalid Date",
  ])("that cannot be read is a time that is not ahead: %j", (header) => {
    expect(delayOf(header)).toBe(NOT_AHEAD);
  });

  test("that is over is not ahead", () => {
    expect(delayOf("Sat, 05 Nov 1994 08:49:37 GMT")).toBe(NOT_AHEAD);
  });

  test("in plain JavaScript may be a number", () => {
    expect(delayOf(30 as never)).toBe(30_000);
  });

  test("is one time whatever the form that says it", () => {
    const second = fc.integer({ min: Date.parse("1970-01-01") / 1_000, max: Date.parse("2099-12-31") / 1_000 });
    fc.assert(
      fc.property(second, (seconds) => {
        const at = new Date(seconds * 1_000);
        const [, day = "", month = "", year = "", time = ""] = at.toUTCString().split(" ");
        const long = new Intl.DateTimeFormat("en", { weekday: "long", timeZone: "UTC" }).format(at);
        for (const header of [
          at.toUTCString(),
          `${long}, ${day}-${month}-${year.slice(2)} ${time} GMT`,
          `${long.slice(0, 3)} ${month} ${day.replace(/^0/, " ")} ${time} ${year}`,
        ])
          expect(retryAfter(header).when).toEqual({ at });
      }),
    );
  });

  test("is never refused, whatever it says", () => {
    fc.assert(fc.property(fc.string(), (header) => retryAfter(header) instanceof RetryLater));
  });
});
