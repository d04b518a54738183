import { beforeEach, describe, expect, test } from "vitest";
import {
  BadRequest,
  createClient,
  NotFound,
  PreconditionFailed,
  type Client,
  type Events,
  type Paged,
} from "../../src/client.ts";
import type { EmulatedAccount, Emulator } from "../../src/emulator.ts";
import { startEmulator } from "../emulator/support.ts";

const berlin = (text: string) => ({ dateTime: `2026-03-${text}:00+01:00`, timezone: "Europe/Berlin" });
/** From nine to ten on a Monday. */
const NINE = { start: berlin("02T09:00"), end: berlin("02T10:00") };
const WEEK = { timeMin: "2026-03-02T00:00:00+01:00", timeMax: new Date("2026-03-08T23:00:00Z") };
const DAILY = { recurrence: { simple: { pattern: { frequency: "daily" } } } };

let emulator: Emulator;
let account: EmulatedAccount;
let client: Client;
let events: Events;

beforeEach(async () => {
  emulator = await startEmulator({ pageSize: 3 });
  account = await emulator.account({ name: "Ada Byron", email: "ada@example.com" });
  client = createClient({ baseUrl: emulator.url, token: account.token, rateLimit: false });
  ({ events } = client.calendar("primary"));
});

async function allOf<T>(list: Paged<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const one of list) all.push(one);
  return all;
}

describe("events", () => {
  test("GET .../events/range walks all pages: events, and occurrences of series", async () => {
    await events.create({ subject: "Once", ...NINE });
    await events.create({ subject: "Daily", ...NINE, ...DAILY });
    const found = await allOf(events.range(WEEK));
    expect(found.filter(({ subject }) => subject === "Once")).toHaveLength(1);
    expect(found.filter(({ recurrenceType }) => recurrenceType === "occurrence")).toHaveLength(7);
  });

  test("GET .../events/range has exclusive bounds", async () => {
    await events.create({ subject: "Review", ...NINE });
    const nine = { from: "2026-03-02T09:00:00+01:00", to: "2026-03-02T10:00:00+01:00" };
    expect(await allOf(events.range({ timeMin: nine.to, timeMax: "2026-03-03T00:00:00Z" }))).toEqual([]);
    expect(await allOf(events.range({ timeMin: "2026-03-01T00:00:00Z", timeMax: nine.from }))).toEqual([]);
    expect(await allOf(events.range({ timeMin: nine.from, timeMax: nine.to }))).toHaveLength(1);
  });

  test("GET .../events/find finds by several iCal ids", async () => {
    const made = [];
    for (const subject of ["a", "b", "c"]) made.push(await events.create({ subject, ...NINE }));
    const iCalUId = made.slice(1).map((one) => one.iCalUId ?? "");
    expect((await allOf(events.find({ iCalUId }))).map(({ subject }) => subject)).toEqual(["b", "c"]);
    expect(() => events.find({ iCalUId: [] })).toThrow("got no iCalUId");
  });

  test("POST .../events and GET .../events/{eventId}", async () => {
    const meetingInfo = { attendees: [{ emailAddress: { address: "grace@example.com" }, type: "required" }] };
    const saved = await events.create({ subject: "Review", ...NINE, meetingInfo }, { notifyAttendees: false });
    expect(saved.record).toMatchObject({ id: saved.id, subject: "Review", organizer: {} });
    expect(await events.get(saved.id, { nativeProperties: ["color"] })).toMatchObject({
      id: saved.id,
      etag: saved.etag,
      start: { timezone: "Europe/Berlin" },
      meetingInfo,
    });
    const bare = await events.create({ ...NINE, description: "Text" }, { returnRecord: false, bodyType: "text" });
    expect(bare).toEqual({ id: bare.id, etag: bare.etag, iCalUId: bare.iCalUId });
    await expect(events.get("none")).rejects.toThrow(NotFound);
    await expect(events.create({ subject: "No time" })).rejects.toMatchObject({
      name: "BadRequest",
      serviceMessage: expect.stringContaining("start") as string,
    });
  });

  test("PATCH .../events/{eventId} needs the etag, and fails with an old one", async () => {
    const { id, etag = "" } = await events.create({ subject: "Review", ...NINE });
    const saved = await events.update(id, { subject: "Later" }, { ifMatch: etag, notifyAttendees: false });
    expect(saved.record).toMatchObject({ subject: "Later" });
    expect(saved.etag).not.toBe(etag);
    await expect(events.update(id, { subject: "Lost" }, { ifMatch: etag })).rejects.toThrow(PreconditionFailed);
    expect(await events.get(id)).toMatchObject({ subject: "Later" });
    const bare = await events.update(id, { location: "Room 1" }, { ifMatch: saved.etag ?? "", returnRecord: false });
    expect(bare.record).toBeUndefined();
    await expect(events.update(id, {}, { ifMatch: "" })).rejects.toThrow("got no ifMatch");
    const update = events.update as (...args: readonly unknown[]) => Promise<unknown>;
    for (const given of [[], [undefined], [null], [{}]])
      await expect(update(id, {}, ...given)).rejects.toMatchObject({ name: "UsageError", code: "option-invalid" });
  });

  test("DELETE .../events/{eventId}", async () => {
    const { id } = await events.create({ subject: "Review", ...NINE });
    await events.delete(id, { notifyAttendees: false });
    await expect(events.get(id)).rejects.toThrow(NotFound);
    await expect(events.delete(id)).rejects.toThrow(NotFound);
  });

  test("GET .../events/{masterId}/series and .../occurrences/{ost}: by the start before it was moved", async () => {
    const { id } = await events.create({ subject: "Daily", ...NINE, ...DAILY });
    const ost = new Date("2026-03-04T08:00:00Z");
    const occurrence = await events.occurrence(id, ost);
    expect(occurrence).toMatchObject({ subject: "Daily", occurrenceInfo: { masterId: id, type: "regular" } });
    const moved = { start: berlin("04T11:00"), end: berlin("04T12:00") };
    await events.update(occurrence.id, moved, { ifMatch: occurrence.etag ?? "" });
    expect(await events.occurrence(id, "2026-03-04T09:00:00+01:00")).toMatchObject({ id: occurrence.id });
    await events.delete((await events.occurrence(id, "2026-03-05T09:00:00+01:00")).id);
    const series = await events.series(id);
    expect(series.recurrence).toBeDefined();
    expect(series.modifiedOccurrences).toMatchObject([{ id: occurrence.id, type: "modified", masterId: id }]);
    expect(series.modifiedOccurrences?.[0]?.originalStart).toMatchObject({ timezone: "Europe/Berlin" });
    expect(series.deletedOccurrences).toHaveLength(1);
    await expect(events.occurrence(id, "2026-03-04T10:00:00+01:00")).rejects.toThrow(NotFound);
  });

  test("PUT .../events/{eventId}/response", async () => {
    const attendees = [{ emailAddress: { address: "ada@example.com" }, type: "required" }];
    const { id } = await account.addEvent({ subject: "Review", ...NINE, meetingInfo: { attendees } });
    await events.respond(id, { response: "accepted", comment: "Gladly" }, { notifyAttendees: false });
    expect((await events.get(id)).meetingInfo).toMatchObject({ response: "accepted" });
    await expect(events.respond(id, { response: "perhaps" })).rejects.toThrow(BadRequest);
  });

  test("GET .../events/{eventId}/attachments/{attachmentId} gives the bytes", async () => {
    const attachments = [{ id: "a-1", name: "plan.bin", content: Buffer.from([0, 1, 255]).toString("base64") }];
    const { id } = await events.create({ subject: "Review", ...NINE, attachments });
    expect(await events.get(id)).toMatchObject({ hasAttachments: true });
    expect([...(await events.attachment(id, "a-1")).content]).toEqual([0, 1, 255]);
    await expect(events.attachment(id, "none")).rejects.toThrow(NotFound);
  });
});

describe("free/busy and availability", () => {
  const request = { ...WEEK, durationMinutes: 60, defaultTimezone: "Europe/Berlin" };
  const nine = new Date("2026-03-02T08:00:00Z").getTime();

  beforeEach(async () => void (await events.create({ subject: "Review", ...NINE })));

  /** The first is on Monday at nine, when the account is busy. */
  function startsOf(slots: readonly { readonly start?: string }[]): readonly number[] {
    return slots.map(({ start = "" }) => Date.parse(start));
  }

  test("POST /v1/calendars/freeBusy has the account and others, and an error where one cannot be seen", async () => {
    const schedules = await allOf(client.freeBusy({ ...WEEK, emails: ["nobody@example.com"] }));
    const own = schedules.find(({ email }) => email === "ada@example.com");
    expect(startsOf(own?.items ?? [])).toEqual([nine]);
    expect(own?.items?.[0]?.status).toBe("busy");
    expect(schedules.find(({ email }) => email === "nobody@example.com")?.error).toBeDefined();
  });

  test("POST /v1/calendars/{calendarId}/freeBusy walks all pages", async () => {
    for (const day of ["03", "04", "05", "06"])
      await events.create({ ...NINE, start: berlin(`${day}T09:00`), end: berlin(`${day}T10:00`) });
    const items = await allOf(client.calendar("primary").freeBusy(WEEK));
    expect(startsOf(items)).toEqual([0, 1, 2, 3, 4].map((day) => nine + day * 86_400_000));
    await expect(client.calendar("none").freeBusy(WEEK).page()).rejects.toThrow(NotFound);
  });

  test("POST /v1/calendars/suggestMeetingTimes", async () => {
    await emulator.account({ email: "grace@example.com" });
    const times = await client.suggestMeetingTimes({ ...request, attendees: [{ email: "grace@example.com" }] });
    expect(times.items.length).toBeGreaterThan(10);
    expect(startsOf(times.items)).not.toContain(nine);
    expect(startsOf(times.items)[0]).toBe(nine + 3_600_000);
    expect(times.attendees).toHaveLength(1);
  });

  test("POST /v1/calendars/{calendarId}/availableTimes walks all pages", async () => {
    const slots = await allOf(client.calendar("primary").availableTimes(request));
    expect(slots.length).toBeGreaterThan(10);
    expect(startsOf(slots)[0]).toBe(nine + 3_600_000);
    expect(new Set(startsOf(slots)).size).toBe(slots.length);
  });
});
