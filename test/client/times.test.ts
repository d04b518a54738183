import fc from "fast-check";
import { isHooklineError } from "hookline";
import { Temporal } from "temporal-polyfill";
import { describe, expect, test } from "vitest";
import { createClient, type Instant } from "../../src/client.ts";
import { startService } from "./support.ts";

/** What is sent as `timeMin` of a range that ends in the year 9999; nothing is sent where it is refused. */
async function sent(timeMin: Instant, timeMax: Instant = "9999-12-31T23:59:59Z") {
  const { url, requests } = await startService(() => ({ json: { records: [] } }));
  const { events } = createClient({ baseUrl: url, token: "t" }).calendar("primary");
  const range = async (): Promise<unknown> => events.range({ timeMin, timeMax }).page();
  const error: unknown = await range().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { timeMin: Object.fromEntries(requests[0]?.query ?? [])["timeMin"], requests: requests.length, error };
}

describe("a time", () => {
  test.each<[string, Instant, string]>([
    ["a Date", new Date("2026-03-01T08:00:00Z"), "2026-03-01T08:00:00.000Z"],
    ["a text with an offset", "2026-03-01T09:00:00+01:00", "2026-03-01T09:00:00+01:00"],
    ["a text in UTC", "2026-03-01T09:00:00.123Z", "2026-03-01T09:00:00.123Z"],
    ["a Temporal.Instant", Temporal.Instant.from("2026-03-01T08:00:00Z"), "2026-03-01T08:00:00Z"],
    [
      "a Temporal.ZonedDateTime",
      Temporal.ZonedDateTime.from("2026-07-01T09:00:00+02:00[Europe/Berlin]"),
      "2026-07-01T09:00:00+02:00",
    ],
  ])("is %s", async (_name, given, expected) => {
    expect(await sent(given)).toEqual({ timeMin: expected, requests: 1, error: undefined });
  });

  test.each<[string, unknown]>([
    ["a text without an offset", "2026-03-01T09:00:00"],
    ["a Temporal.PlainDateTime", Temporal.PlainDateTime.from("2026-03-01T09:00:00")],
    ["a day", "2026-03-01"],
    ["a day that does not exist", "2026-02-30T09:00:00Z"],
    ["an hour that does not exist", "2026-02-03T25:00:00Z"],
    ["an invalid Date", new Date(Number.NaN)],
    ["a number", 1_700_000_000],
    ["nothing", undefined],
    ["null", null],
    ["another text", "tomorrow"],
    ["an object without a text", {}],
  ])("that is %s is refused before the call", async (_name, given) => {
    const { error, requests } = await sent(given as Instant);
    expect(isHooklineError(error, "time-invalid")).toBe(true);
    expect((error as Error).message).toContain("timeMin");
    expect(requests).toBe(0);
  });

  test("of an occurrence is checked, too", async () => {
    const { events } = createClient({ token: "t" }).calendar("primary");
    await expect(events.occurrence("e-1", "2026-03-01T09:00:00")).rejects.toThrow("originalStart");
  });
});

describe("a window", () => {
  test("must begin before it ends, whatever the zones; milliseconds do not count", async () => {
    const start = fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true });
    await fc.assert(
      fc.asyncProperty(
        start,
        fc.integer({ min: -3_000, max: 3_000 }),
        fc.integer({ min: -12, max: 12 }),
        async (min, ms, hours) => {
          const max = new Date(min.getTime() + ms);
          const zone = `${hours < 0 ? "-" : "+"}${String(Math.abs(hours)).padStart(2, "0")}:00`;
          const local = new Date(max.getTime() + hours * 3_600_000).toISOString().replace("Z", zone);
          const isWindow = Math.floor(min.getTime() / 1_000) < Math.floor(max.getTime() / 1_000);
          const { events } = createClient({
            token: "t",
            fetch: async () => Response.json({ records: [] }),
            rateLimit: false,
          }).calendar("c");
          const refused = await Promise.resolve()
            .then(() => events.range({ timeMin: min, timeMax: local }).page())
            .then(
              () => false,
              (error: unknown) => isHooklineError(error, "window-invalid"),
            );
          expect(refused).toBe(!isWindow);
        },
      ),
      { numRuns: 300 },
    );
  });

  test("is checked wherever there is one, before the call", async () => {
    const { url, requests } = await startService(() => ({ json: { records: [] } }));
    const client = createClient({ baseUrl: url, token: "t" });
    const window = { timeMin: new Date(1_000), timeMax: new Date(1_999) };
    const zone = { durationMinutes: 30, defaultTimezone: "Europe/Berlin" };
    const calls: readonly (() => unknown)[] = [
      () => client.calendar("c").events.range(window),
      () => client.calendar("c").sync.start(window),
      () => client.calendar("c").freeBusy(window),
      () => client.calendar("c").availableTimes({ ...window, ...zone }),
      () => client.freeBusy({ ...window, emails: [] }),
      () => client.suggestMeetingTimes({ ...window, ...zone, attendees: [] }),
    ];
    for (const call of calls) {
      const error: unknown = await Promise.resolve()
        .then(call)
        .catch((thrown: unknown) => thrown);
      expect(isHooklineError(error, "window-invalid")).toBe(true);
    }
    expect(requests).toEqual([]);
  });
});
