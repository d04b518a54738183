import { describe, expect, test } from "vitest";
import { call } from "../support.ts";
import { DAILY, EVENTS, MARCH, NINE, startCalendar } from "./calendar-support.ts";

/** A field, and a body that is wrong there. */
const WRONG_FIELDS: readonly (readonly [field: string, fields: object])[] = [
  ["subject", { subject: 7 }],
  ["start", { start: "2026-03-02T09:00:00Z" }],
  ["start.dateTime", { start: { dateTime: "soon" } }],
  ["start.dateTime", { start: { dateTime: "2026-03-02T09:00:00Z", dateOnly: "2026-03-02" } }],
  ["start.dateTime", { start: {} }],
  ["start.dateOnly", { start: { dateOnly: "2026-02-30" } }],
  ["start.timezone", { start: { ...NINE.start, timezone: "Berlin" } }],
  ["start.timezone", { start: { ...NINE.start, timezone: "+01:00" } }],
  ["end", { end: { dateTime: "2026-03-02T08:59:59+01:00" } }],
  ["end", { end: { dateOnly: "2026-03-03" } }],
  ["end", { start: { dateOnly: "2026-03-03" }, end: { dateTime: "2026-03-03T10:00:00Z" } }],
  ["end", { start: { dateOnly: "2026-03-03" }, end: { dateOnly: "2026-03-02" } }],
  [
    "meetingInfo.attendees.0.emailAddress.address",
    { meetingInfo: { attendees: [{ emailAddress: { address: "x" } }] } },
  ],
  ["meetingInfo.attendees.0.type", { meetingInfo: { attendees: [{ emailAddress: { address: "x@y" }, type: "x" }] } }],
  ["showAs", { showAs: "away" }],
  ["attachments.0.content", { attachments: [{ content: "?" }] }],
  ["recurrence.simple", { recurrence: {} }],
  ["recurrence.ical.recurrenceStart", { recurrence: { ical: { rules: ["RRULE:FREQ=DAILY"], recurrenceStart: "x" } } }],
  ["recurrence.simple.pattern.frequency", { recurrence: { simple: { pattern: { frequency: "hourly" } } } }],
  [
    "recurrence.simple.range.count",
    { recurrence: { simple: { ...DAILY.recurrence.simple, range: { type: "byCount" } } } },
  ],
  [
    "recurrence.simple.range.recurrenceEnd",
    { recurrence: { simple: { ...DAILY.recurrence.simple, range: { type: "byDate" } } } },
  ],
  ...[
    "RRULE:FREQ=HOURLY",
    "RRULE:FREQ=DAILY;BYHOUR=9,10",
    "RRULE:FREQ=DAILY;BYDAY=XX",
    "RRULE:FREQ=DAILY;BYDAY=2SU",
    "RRULE:FREQ=DAILY;INTERVAL=1000",
    "FREQ=DAILY",
    "RRULE:COUNT=2",
  ].map((rule) => ["recurrence", { recurrence: { ical: { rules: [rule] } } }] as const),
  ["recurrence", { recurrence: { ical: { rules: ["RRULE:FREQ=DAILY", "RRULE:FREQ=WEEKLY"] } } }],
  ["recurrence", { recurrence: { ical: { rules: ["RRULE:FREQ=DAILY", "EXDATE;TZID=Nowhere:20260303T090000"] } } }],
];

/** What no client changes. */
const SET_BY_SERVICE = { id: "x", calendarId: "x", organizer: "x", iCalUId: "x", recurrenceType: "x", exceptions: {} };

describe("POST /v1/calendars/{calendarId}/events", () => {
  test("creates an event: 201 with ids, the entity tag, and the record unless it is not wanted", async () => {
    const { ask } = await startCalendar();
    const attendees = [{ emailAddress: { address: "grace@example.com" }, type: "required" }];
    const fields = { subject: "Review", location: "Room 7", ...NINE, meetingInfo: { attendees } };
    const { status, json } = await ask(`POST ${EVENTS}`, { ...fields, ...SET_BY_SERVICE });
    expect(status).toBe(201);
    const { record, ...ids } = json;
    const { id } = ids;
    expect(Object.keys(ids).toSorted()).toEqual(["etag", "globalId", "iCalUId", "id"]);
    expect(record).toMatchObject({
      ...fields,
      ...ids,
      organizer: { emailAddress: { name: "Ada Byron", address: "ada@example.com" } },
      recurrenceType: "single",
      hasAttachments: false,
      omitted: [],
    });
    expect(id).not.toBe("x");
    expect((await ask(`GET ${EVENTS}/${String(id)}`)).json).toEqual(record);
    for (const query of ["returnRecord=false", "returnRecord=false&notifyAttendees=false&bodyType=text"])
      expect((await ask(`POST ${EVENTS}?${query}`, fields)).json).not.toHaveProperty("record");
    expect((await ask(`POST ${EVENTS}?returnRecord=&notifyAttendees=`, fields)).json).toHaveProperty("record");
  });

  test("a description is HTML, or text that becomes so", async () => {
    const { ask } = await startCalendar();
    const body = { ...NINE, description: "a < b\nc" };
    expect((await ask(`POST ${EVENTS}`, body)).json).toMatchObject({ record: { description: "a < b\nc" } });
    expect((await ask(`POST ${EVENTS}?bodyType=text`, body)).json).toMatchObject({
      record: { description: "<p>a &lt; b<br>c</p>" },
    });
  });

  test("a time without an offset is that of its zone, and is shown with it", async () => {
    const { create } = await startCalendar();
    const time = { timezone: "America/New_York" };
    expect(
      await create({ start: { dateTime: "2026-07-01T09:00:00", ...time }, end: { dateTime: "2026-07-01T09:00:00" } }),
    ).toMatchObject({ start: { dateTime: "2026-07-01T09:00:00-04:00", ...time } });
  });

  test("a series says its rule in both forms", async () => {
    const { create } = await startCalendar();
    expect(await create(DAILY)).toMatchObject({
      recurrenceType: "master",
      recurrence: {
        original: "simple",
        simple: { pattern: { frequency: "daily", interval: 1 } },
        ical: { rules: ["RRULE:FREQ=DAILY;INTERVAL=1"], recurrenceStart: NINE.start },
      },
    });
    // An EventDateTime, when it is given and when it is shown; the start of the event counts.
    const given = { rules: ["RRULE:FREQ=DAILY"], recurrenceStart: { dateTime: "2025-01-01T00:00:00Z" } };
    expect(await create({ recurrence: { ical: given } })).toMatchObject({
      recurrence: { ical: { rules: given.rules, recurrenceStart: NINE.start } },
    });
    const ical = { rules: ["RRULE:FREQ=WEEKLY;COUNT=2"] };
    expect(await create({ recurrence: { ical } })).toMatchObject({ recurrence: { original: "ical", ical } });
    for (const original of ["simple", "ical"])
      expect(await create({ recurrence: { original, ...DAILY.recurrence, ical } })).toMatchObject({
        recurrence: { original },
      });
  });

  test.each(WRONG_FIELDS)("400 that names %s", async (field, fields) => {
    const { ask } = await startCalendar();
    const { status, json } = await ask(`POST ${EVENTS}`, { ...NINE, ...fields });
    expect({ status, message: json["message"] }).toEqual({
      status: 400,
      message: expect.stringContaining(`The field "${field}" is wrong: `) as string,
    });
  });

  test("400 without times or for a wrong flag, 403 for another account's calendar, 404, 401", async () => {
    const { emulator, ask, theirs } = await startCalendar();
    expect((await ask(`POST ${EVENTS}`, { end: NINE.end })).json["message"]).toContain('"start"');
    expect((await ask(`POST ${EVENTS}`, { start: NINE.start })).json["message"]).toContain('"end"');
    for (const flag of ["notifyAttendees", "returnRecord", "bodyType"])
      expect((await ask(`POST ${EVENTS}?${flag}=yes`, NINE)).json["message"]).toContain(`"${flag}"`);
    const shared = `POST /v1/calendars/${await theirs()}/events`;
    expect(await ask(shared, NINE)).toMatchObject({ status: 403, json: { code: "forbidden" } });
    expect(await ask("POST /v1/calendars/none/events", NINE)).toMatchObject({ status: 404 });
    expect(await call(emulator, `POST ${EVENTS}`, { body: NINE })).toMatchObject({ status: 401 });
  });
});

describe("GET /v1/calendars/{calendarId}/events/{eventId}", () => {
  test("gets an event, a series and an occurrence; native properties add nothing", async () => {
    const { ask, create, get } = await startCalendar();
    const series = await create(DAILY);
    expect(await get(series.id)).toEqual(series);
    const { json: calendar } = await ask("GET /v1/calendars/primary");
    const native = await ask(
      `GET /v1/calendars/${String(calendar["id"])}/events/${series.id}?nativeProperties=a&nativeProperties=b`,
    );
    expect(native.json).toEqual({ ...series, calendarId: calendar["id"] });
    expect(await get(`${series.id}_20260330T070000Z`)).toMatchObject({
      id: `${series.id}_20260330T070000Z`,
      recurrenceType: "occurrence",
      iCalUId: series.iCalUId,
      start: { dateTime: "2026-03-30T09:00:00+02:00", timezone: "Europe/Berlin" },
    });
  });

  test("404 for none, for what is no occurrence, and for a calendar that is not there; 401", async () => {
    const { emulator, ask, create } = await startCalendar();
    const { id } = await create(DAILY);
    const single = await create();
    const none = [`${id}_20260330T080000Z`, `${id}_20260301T080000Z`, `${id}_20260330`, `${id}_20261345T990000Z`];
    for (const missing of ["none", ...none, `${single.id}_20260302T080000Z`])
      expect(await ask(`GET ${EVENTS}/${missing}`)).toMatchObject({ status: 404, json: { code: "not_found" } });
    expect(await ask(`GET /v1/calendars/none/events/${id}`)).toMatchObject({ status: 404 });
    expect(await call(emulator, `GET ${EVENTS}/${id}`)).toMatchObject({ status: 401 });
  });

  test("the name of the iCal id is an option", async () => {
    const { ask, create } = await startCalendar({ variants: { iCalUId: "iCalUid" } });
    const event = await create();
    expect(event).toMatchObject({ iCalUid: `${event.id}@hookline.example` });
    expect(event).not.toHaveProperty("iCalUId");
    expect((await ask(`POST ${EVENTS}`, NINE)).json).toHaveProperty("iCalUId");
  });
});

describe("PATCH /v1/calendars/{calendarId}/events/{eventId}", () => {
  test("makes a series of an event, and refuses a rule that is none", async () => {
    const { create, update, list } = await startCalendar();
    const { id } = await create({ subject: "Stand-up" });
    expect(await update(id, { recurrence: { ical: { rules: ["RRULE:FREQ=HOURLY"] } } })).toMatchObject({ status: 400 });
    expect(await update(id, DAILY)).toMatchObject({ status: 200, json: { record: { recurrenceType: "master" } } });
    expect(await list(`range?${MARCH}`)).toHaveLength(3);
  });

  test("changes what is given, and the entity tag with it", async () => {
    const { ask, create, get } = await startCalendar();
    const event = await create({ subject: "Review", location: "Room 7" });
    const headers = { "If-Match": event.etag };
    const { status, json } = await ask(`PATCH ${EVENTS}/${event.id}`, { ...SET_BY_SERVICE, subject: "Talk" }, headers);
    expect(status).toBe(200);
    const { etag } = json;
    expect(etag).not.toBe(event.etag);
    expect(json["record"]).toEqual({ ...event, subject: "Talk", etag });
    expect(await get(event.id)).toEqual(json["record"]);
    const line = `PATCH ${EVENTS}/${event.id}?returnRecord=false&notifyAttendees=false`;
    const answer = await ask(line, { subject: "Walk" }, { "If-Match": String(etag) });
    expect(Object.keys(answer.json).toSorted()).toEqual(["etag", "globalId", "iCalUId", "id"]);
  });

  test("400 without If-Match, 412 with another tag: nothing is changed", async () => {
    const { ask, create, get, update } = await startCalendar();
    const event = await create();
    const { status, json } = await ask(`PATCH ${EVENTS}/${event.id}`, { subject: "x" });
    expect({ status, json }).toMatchObject({
      status: 400,
      json: { message: expect.stringContaining("If-Match") as string },
    });
    const stale = await ask(`PATCH ${EVENTS}/${event.id}`, { subject: "x" }, { "If-Match": '"x"' });
    expect(stale).toMatchObject({ status: 412, json: { code: "preconditionFailed" } });
    expect(await get(event.id)).toEqual(event);
    await update(event.id, { subject: "y" });
    expect(await ask(`PATCH ${EVENTS}/${event.id}`, { subject: "x" }, { "If-Match": event.etag })).toMatchObject({
      status: 412,
    });
  });

  test.each(WRONG_FIELDS)("400 that names %s", async (field, fields) => {
    const { create, update } = await startCalendar();
    const { id } = await create();
    const { status, json } = await update(id, fields);
    expect({ status, message: json["message"] }).toEqual({
      status: 400,
      message: expect.stringContaining(`The field "${field}" is wrong: `) as string,
    });
  });

  test("of an occurrence changes that one alone", async () => {
    const { emulator, create, get, list, update } = await startCalendar();
    const series = await create({ subject: "Stand-up", ...DAILY });
    const id = `${series.id}_20260303T080000Z`;
    const other = await get(`${series.id}_20260304T080000Z`);
    const moved = {
      start: { dateTime: "2026-03-02T06:00:00Z", timezone: "UTC" },
      end: { dateTime: "2026-03-02T07:00:00Z", timezone: "UTC" },
    };
    const { status, json } = await update(id, { subject: "Early", ...moved });
    expect({ status, json }).toMatchObject({ status: 200, json: { id, record: { id, subject: "Early", ...moved } } });
    expect((await get(id))["occurrenceInfo"]).toMatchObject({
      type: "modified",
      start: moved.start,
      masterId: series.id,
      originalStart: { dateTime: "2026-03-03T09:00:00+01:00" },
    });
    expect((await list(`range?${MARCH}`)).map(({ subject }) => subject)).toEqual(["Early", "Stand-up", "Stand-up"]);
    expect(await get(other.id)).toEqual(other);
    expect(await get(series.id)).toEqual(series);
    await emulator.advance(1_000);
    await update(id, { location: "Room 7" });
    expect(await get(id)).toMatchObject({ subject: "Early", location: "Room 7" });
    for (const { id: unchanged, etag } of [other, series]) expect(await get(unchanged)).toMatchObject({ etag });
    expect((await update(series.id, { subject: "Daily" })).status).toBe(200);
    expect(await get(other.id)).toMatchObject({ subject: "Daily" });
    expect(await get(id)).toMatchObject({ subject: "Early" });
    expect((await update(id, DAILY)).json["message"]).toContain('"recurrence"');
  });

  test("403 in another account's calendar, 404 and 401", async () => {
    const { emulator, ask, create, theirs } = await startCalendar();
    const { id } = await create();
    const headers = { "If-Match": "x" };
    expect(await ask(`PATCH /v1/calendars/${await theirs()}/events/x`, {}, headers)).toMatchObject({ status: 403 });
    expect(await ask(`PATCH ${EVENTS}/none`, {}, headers)).toMatchObject({ status: 404 });
    expect(await ask(`PATCH /v1/calendars/none/events/${id}`, {}, headers)).toMatchObject({ status: 404 });
    expect(await call(emulator, `PATCH ${EVENTS}/${id}`, { body: {}, headers })).toMatchObject({ status: 401 });
  });
});

describe("DELETE /v1/calendars/{calendarId}/events/{eventId}", () => {
  test("deletes an event, an occurrence alone, and a series with all of them: 200 without a body", async () => {
    const { ask, create, list, update } = await startCalendar();
    const series = await create(DAILY);
    await update(`${series.id}_20260303T080000Z`, { subject: "Changed" });
    for (const [day, left] of [
      ["03", 2],
      ["02", 1],
    ] as const) {
      const id = `${series.id}_202603${day}T080000Z`;
      const answer = await ask(`DELETE ${EVENTS}/${id}?notifyAttendees=false`);
      expect(answer).toMatchObject({ status: 200, json: {} });
      expect(answer.headers.get("content-type")).toBeNull();
      expect(await ask(`DELETE ${EVENTS}/${id}`)).toMatchObject({ status: 404 });
      expect(await list(`range?${MARCH}`)).toHaveLength(left);
    }
    expect(await ask(`DELETE ${EVENTS}/${series.id}`)).toMatchObject({ status: 200 });
    expect(await list(`range?${MARCH}`)).toEqual([]);
    expect(await ask(`GET ${EVENTS}/${series.id}_20260304T080000Z`)).toMatchObject({ status: 404 });
  });

  test("400 that names a wrong flag, 403 in another account's calendar, 404 and 401", async () => {
    const { emulator, ask, create, theirs } = await startCalendar();
    const { id } = await create();
    expect((await ask(`DELETE ${EVENTS}/${id}?notifyAttendees=1`)).json["message"]).toContain('"notifyAttendees"');
    expect(await ask(`DELETE /v1/calendars/${await theirs()}/events/x`)).toMatchObject({ status: 403 });
    expect(await ask(`DELETE ${EVENTS}/none`)).toMatchObject({ status: 404 });
    expect(await call(emulator, `DELETE ${EVENTS}/${id}`)).toMatchObject({ status: 401 });
  });
});
