import { describe, expect, test } from "vitest";
import type { EmulatorOptions } from "../../../src/emulator.ts";
import { call, startEmulator } from "../support.ts";

/** The week in which Berlin, an hour ahead of UTC until then, puts its clocks forward: on Sunday, the 29th. */
const WEEK = { timeMin: "2026-03-27T00:00:00+01:00", timeMax: "2026-04-01T00:00:00+02:00" };
const OFFICE_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday"];

const FREE_BUSY = "POST /v1/calendars/freeBusy";
const SUGGEST = "POST /v1/calendars/suggestMeetingTimes";
const CALENDAR_FREE_BUSY = "POST /v1/calendars/{calendarId}/freeBusy";
const AVAILABLE_TIMES = "POST /v1/calendars/{calendarId}/availableTimes";
const ROWS = [FREE_BUSY, SUGGEST, CALENDAR_FREE_BUSY, AVAILABLE_TIMES];

async function startAccount(options: EmulatorOptions = {}) {
  const emulator = await startEmulator(options);
  const account = await emulator.account({ email: "grace@example.com" });
  const ask = (line: string, body: unknown) => call(emulator, ofPrimary(line), { token: account.token, body });
  return { emulator, account, ask };
}

function ofPrimary(row: string): string {
  return row.replace("{calendarId}", "primary");
}

/** An event at a time of a day in March 2026, as the clock of a zone shows it. */
function at(day: number, from: string, to: string, { timezone = "UTC", ...fields }: Record<string, unknown> = {}) {
  const time = (clock: string) => ({ dateTime: `2026-03-${day}T${clock}:00`, timezone });
  return { start: time(from), end: time(to), ...fields };
}

const startsOf = (times: unknown) => (times as readonly { readonly start: string }[]).map(({ start }) => start);

describe(FREE_BUSY, () => {
  test("gives the account's own times and those of each e-mail, of primary calendars alone", async () => {
    const { emulator, account, ask } = await startAccount();
    const ada = await emulator.account({ email: "Ada@example.com" });
    await account.addEvent(at(27, "09:00", "10:00"));
    await ada.addEvent(at(30, "09:00", "10:00", { timezone: "Europe/Berlin", showAs: "tentative" }));
    const { json } = await call(emulator, "POST /v1/calendars", { token: ada.token, body: { name: "Team" } });
    await ada.addEvent(at(31, "09:00", "10:00"), String(json["id"]));
    const workHours = {
      timezone: "UTC",
      daySchedules: OFFICE_DAYS.map((dayOfWeek) => ({
        dayOfWeek,
        workingIntervals: [{ start: "09:00:00", end: "17:00:00" }],
      })),
    };
    const own = [{ start: "2026-03-27T09:00:00Z", end: "2026-03-27T10:00:00Z", status: "busy" }];
    const hers = [{ start: "2026-03-30T07:00:00Z", end: "2026-03-30T08:00:00Z", status: "tentative" }];
    expect(await ask(FREE_BUSY, { ...WEEK, emails: ["ada@EXAMPLE.com"] })).toMatchObject({
      status: 200,
      json: {
        records: [
          { email: "grace@example.com", items: own, workHours },
          { email: "ada@EXAMPLE.com", items: hers, workHours },
        ],
      },
    });
    expect((await ask(FREE_BUSY, WEEK)).json).toEqual({
      records: [{ email: "grace@example.com", items: own, workHours }],
    });
    expect((await ask(FREE_BUSY, { ...WEEK, emails: ["ada@example.com", "GRACE@example.com"] })).json).toMatchObject({
      records: [
        { email: "ada@example.com", items: hers },
        { email: "GRACE@example.com", items: own },
      ],
    });
  });

  test("200 with an error for a mailbox that is not there, and for one that the service has lost its access to", async () => {
    const { emulator, ask } = await startAccount();
    const lost = await emulator.account({ email: "ada@example.com" });
    await lost.addEvent(at(27, "09:00", "10:00"));
    await lost.expireCredentials();
    const { status, json } = await ask(FREE_BUSY, { ...WEEK, emails: ["lin@example.com", "ada@example.com"] });
    expect(status).toBe(200);
    expect(json["records"]).toMatchObject([
      { email: "grace@example.com", items: [] },
      { email: "lin@example.com", items: [], error: "There is no mailbox lin@example.com." },
      { email: "ada@example.com", items: [], error: "The service has lost its access to the mailbox." },
    ]);
  });

  test("does not count events that are shown as free, cancelled or declined", async () => {
    const { account, ask } = await startAccount();
    const attendees = (response: string) => [
      { emailAddress: { address: "ada@example.com" }, response: "declined" },
      { emailAddress: { address: "Grace@example.com" }, response },
    ];
    await account.addEvent(at(27, "01:00", "02:00", { showAs: "free" }));
    await account.addEvent(at(27, "02:00", "03:00", { meetingInfo: { canceled: true } }));
    await account.addEvent(at(27, "03:00", "04:00", { meetingInfo: { response: "declined" } }));
    await account.addEvent(at(27, "04:00", "05:00", { meetingInfo: { attendees: attendees("declined") } }));
    await account.addEvent(at(27, "05:00", "06:00", { meetingInfo: { attendees: attendees("accepted") } }));
    await account.addEvent(at(27, "06:00", "07:00", { meetingInfo: "nonsense", showAs: "elsewhere" }));
    await account.addEvent({ subject: "at no time" });
    const { id } = await account.addEvent(
      at(27, "07:00", "08:00", { meetingInfo: { attendees: attendees("accepted") } }),
    );
    await ask(`PUT /v1/calendars/primary/events/${id}/response`, { response: "declined" });
    const { json } = await ask(FREE_BUSY, WEEK);
    expect(json["records"]).toMatchObject([
      {
        items: [
          { start: "2026-03-27T05:00:00Z", end: "2026-03-27T06:00:00Z", status: "busy" },
          { start: "2026-03-27T06:00:00Z", end: "2026-03-27T07:00:00Z", status: "unknown" },
        ],
      },
    ]);
  });

  test("a day of 23 hours is one, and a series keeps its hour of the day across a change of the clock", async () => {
    const { account, ask } = await startAccount();
    const timezone = "Europe/Berlin";
    await account.addEvent({
      start: { dateOnly: "2026-03-29", timezone },
      end: { dateOnly: "2026-03-30", timezone },
      showAs: "outOfOffice",
    });
    const recurrence = { original: "simple", simple: { pattern: { frequency: "daily", interval: 1 } } };
    await account.addEvent(at(27, "12:00", "12:30", { timezone, recurrence }));
    const { json } = await ask(FREE_BUSY, WEEK);
    const item = (start: string, end: string, status: string) => ({ start, end, status });
    expect(json["records"]).toMatchObject([
      {
        items: [
          item("2026-03-27T11:00:00Z", "2026-03-27T11:30:00Z", "busy"),
          item("2026-03-28T11:00:00Z", "2026-03-28T11:30:00Z", "busy"),
          item("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", "outOfOffice"),
          item("2026-03-30T10:00:00Z", "2026-03-30T10:30:00Z", "busy"),
          item("2026-03-31T10:00:00Z", "2026-03-31T10:30:00Z", "busy"),
        ],
      },
    ]);
  });
});

describe(SUGGEST, () => {
  const request = { ...WEEK, durationMinutes: 180, availabilityStep: 60, defaultTimezone: "Europe/Berlin" };

  test("suggests times at which all are at work and free, in the zone of each", async () => {
    const { emulator, account, ask } = await startAccount();
    const ada = await emulator.account({ email: "ada@example.com" });
    await account.addEvent(at(27, "13:00", "17:00", { timezone: "Europe/Berlin" }));
    await ada.addEvent(at(31, "09:30", "10:00", { timezone: "America/New_York" }));
    // At three in the afternoon in Berlin it is nine in New York before the change, and ten after it.
    const attendees = [{ email: "ada@example.com", timezone: "America/New_York" }];
    const { status, json } = await ask(SUGGEST, { ...request, durationMinutes: 60, attendees });
    expect(status).toBe(200);
    expect(json["items"]).toEqual([
      { start: "2026-03-30T15:00:00+02:00", end: "2026-03-30T16:00:00+02:00" },
      { start: "2026-03-30T16:00:00+02:00", end: "2026-03-30T17:00:00+02:00" },
      { start: "2026-03-31T16:00:00+02:00", end: "2026-03-31T17:00:00+02:00" },
    ]);
    expect(json["attendees"]).toMatchObject([
      { email: "ada@example.com", timezone: "America/New_York", workHours: { timezone: "America/New_York" } },
    ]);
  });

  test("counts an attendee's work hours in the zone of these, or else of the attendee, or else of the defaults", async () => {
    const { ask } = await startAccount();
    const daySchedules = [{ dayOfWeek: "monday", workingIntervals: [{ start: "09:00:00", end: "10:00:00" }] }];
    const everyDay = OFFICE_DAYS.map((dayOfWeek) => ({
      dayOfWeek,
      workingIntervals: [{ start: "00:00:00", end: "24:00:00" }],
    }));
    const ada = { email: "ada@example.com", timezone: "America/New_York", workHours: { daySchedules } };
    const startOf = async (attendee: object) => {
      const own = { email: "grace@example.com", workHours: { daySchedules: everyDay } };
      const defaultWorkHours = { timezone: "Asia/Kolkata", daySchedules };
      const body = { ...request, durationMinutes: 60, availabilityStep: 30, defaultWorkHours };
      const { json } = await ask(SUGGEST, { ...body, attendees: [own, attendee] });
      return startsOf(json["items"]);
    };
    expect(await startOf({ ...ada, workHours: { timezone: "Australia/Lord_Howe", daySchedules } })).toEqual([
      "2026-03-30T00:00:00+02:00",
    ]);
    expect(await startOf(ada)).toEqual(["2026-03-30T15:00:00+02:00"]);
    expect(await startOf({ email: "ada@example.com" })).toEqual(["2026-03-30T05:30:00+02:00"]);
  });

  test("an account's own e-mail is its own calendar, even if another account has the same one", async () => {
    const { emulator, ask } = await startAccount();
    const namesake = await emulator.account({ email: "second@example.com" });
    const third = await emulator.account({ email: "second@example.com" });
    await third.addEvent(at(27, "00:00", "23:00"));
    const body = { ...request, attendees: [{ email: "second@example.com" }] };
    const { json } = await call(emulator, SUGGEST, { token: third.token, body });
    expect(startsOf(json["items"])[0]).toBe("2026-03-30T09:00:00+02:00");
    const other = await call(emulator, SUGGEST, { token: namesake.token, body });
    expect(startsOf(other.json["items"])[0]).toBe("2026-03-27T09:00:00+01:00");
    expect(startsOf((await ask(SUGGEST, body)).json["items"])[0]).toBe("2026-03-27T09:00:00+01:00");
  });

  test("keeps to work hours, intervals, the buffer and the statuses that the request names", async () => {
    const { account, ask } = await startAccount();
    await account.addEvent(at(30, "12:00", "13:00", { timezone: "Europe/Berlin", showAs: "tentative" }));
    const monday = { dayOfWeek: "monday", workingIntervals: [{ start: "08:00:00", end: "24:00:00" }] };
    const search = { ...request, defaultWorkHours: { timezone: "UTC", daySchedules: [monday] } };
    const hoursOf = async (more: object) => {
      const { json } = await ask(SUGGEST, { ...search, ...more });
      return startsOf(json["items"]).map((start) => start.slice("2026-03-".length, "2026-03-30T10".length));
    };
    const late = ["30T13", "30T14", "30T15", "30T16", "30T17", "30T18", "30T19", "30T20", "30T21", "30T22", "30T23"];
    expect(await hoursOf({})).toEqual(late);
    expect(await hoursOf({ freeStatuses: ["free", "tentative"] })).toEqual(["30T10", "30T11", "30T12", ...late]);
    expect(await hoursOf({ timeMax: "2026-03-30T22:00:00+02:00", bufferBetweenMinutes: 60 })).toEqual(late.slice(0, 7));

    const own = { email: "grace@example.com" };
    const busyIntervals = [{ start: "2026-03-30T18:00:00Z", end: "2026-03-30T18:30:00Z" }];
    expect(await hoursOf({ attendees: [{ ...own, busyIntervals }] })).toEqual(
      late.filter((hour) => hour < "30T18" || hour > "30T20"),
    );
    expect(await hoursOf({ bufferBetweenMinutes: 30, attendees: [{ ...own, busyIntervals }] })).toEqual(
      late.filter((hour) => hour < "30T17" || hour > "30T20"),
    );
    const freeIntervals = [{ start: "2026-03-30T14:00:00+02:00", end: "2026-03-30T18:00:00+02:00" }];
    expect(await hoursOf({ attendees: [{ ...own, freeIntervals }] })).toEqual(["30T14", "30T15"]);
    const workHours = {
      daySchedules: [{ dayOfWeek: "tuesday", workingIntervals: [{ start: "09:00:00", end: "12:00:00" }] }],
    };
    expect(await hoursOf({ attendees: [{ ...own, workHours }] })).toEqual(["31T11"]);
    const dates = { dateStartInclusive: "2026-03-30", dateEndInclusive: "2026-03-30" };
    const availabilityIntervals = { intervals: [{ ...dates, hours: [{ start: "15:30:00", end: "20:00:00" }] }] };
    expect(await hoursOf({ availabilityIntervals })).toEqual(["30T16", "30T17"]);
  });

  test("200 with an error at an attendee who has no mailbox, of whom what the request says is counted", async () => {
    const { ask } = await startAccount();
    const busyIntervals = [{ start: "2026-03-27T00:00:00Z", end: "2026-03-31T11:00:00Z" }];
    const attendees = [{ email: "lin@example.com", busyIntervals }];
    const { status, json } = await ask(SUGGEST, { ...request, attendees });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      items: [
        { start: "2026-03-31T13:00:00+02:00", end: "2026-03-31T16:00:00+02:00" },
        { start: "2026-03-31T14:00:00+02:00", end: "2026-03-31T17:00:00+02:00" },
      ],
      attendees: [{ email: "lin@example.com", error: "There is no mailbox lin@example.com." }],
    });
  });
});

describe(CALENDAR_FREE_BUSY, () => {
  test("gives the times of that calendar alone, and 404 for one that is not there", async () => {
    const { emulator, account, ask } = await startAccount();
    const team = String((await ask("POST /v1/calendars", { name: "Team" })).json["id"]);
    await account.addEvent(at(27, "09:00", "10:00"));
    await account.addEvent(at(27, "09:30", "11:00"), team);
    expect(await ask(`POST /v1/calendars/${team}/freeBusy`, WEEK)).toMatchObject({
      status: 200,
      json: {
        length: 1,
        records: [{ start: "2026-03-27T09:30:00Z", end: "2026-03-27T11:00:00Z", status: "busy" }],
      },
    });
    const { token } = await emulator.account();
    for (const answer of [
      await call(emulator, `POST /v1/calendars/${team}/freeBusy`, { token, body: WEEK }),
      await ask("POST /v1/calendars/none/freeBusy", WEEK),
    ])
      expect(answer).toMatchObject({ status: 404, json: { code: "not_found" } });
  });

  test("pages to the end: what was busy all the time is shown once, whatever changes in between", async () => {
    const { account, ask } = await startAccount({ pageSize: 2 });
    for (const hour of [10, 12, 14, 16, 18]) await account.addEvent(at(27, `${hour}:00`, `${hour + 1}:00`));
    const late = await account.addEvent(at(27, "20:00", "21:00"));
    const times: string[] = [];
    let pageToken = "";
    do {
      const { json } = await ask(`${CALENDAR_FREE_BUSY}?pageToken=${encodeURIComponent(pageToken)}`, WEEK);
      const records = json["records"] as readonly { readonly start: string; readonly end: string }[];
      times.push(...records.map(({ start, end }) => `${start.slice(11, 16)}-${end.slice(11, 16)}`));
      if (times.length === 2) {
        await account.addEvent(at(27, "09:00", "14:30"));
        await account.remove("/calendars/primary/events", late.id);
      }
      pageToken = (json["nextPageToken"] as string | undefined) ?? "";
    } while (pageToken !== "");
    expect(times).toEqual(["10:00-11:00", "12:00-13:00", "13:00-15:00", "16:00-17:00", "18:00-19:00"]);
  });
});

describe(AVAILABLE_TIMES, () => {
  const request = { ...WEEK, durationMinutes: 60 };

  test("gives the times at which its owner is at work and the calendar is free, every half hour, at the right hour after a change of the clock", async () => {
    const { account, ask } = await startAccount();
    const team = String((await ask("POST /v1/calendars", { name: "Team" })).json["id"]);
    await account.addEvent(at(27, "00:00", "23:59"));
    const timezone = "Europe/Berlin";
    await account.addEvent(at(27, "10:00", "16:00", { timezone }), team);
    await account.addEvent(at(30, "10:30", "17:00", { timezone }), team);
    const window = { timeMin: WEEK.timeMin, timeMax: "2026-03-31T10:00:00+02:00" };
    const { status, json } = await ask(`POST /v1/calendars/${team}/availableTimes`, {
      ...request,
      ...window,
      defaultTimezone: timezone,
    });
    expect(status).toBe(200);
    expect(json).toEqual({
      length: 5,
      records: [
        { start: "2026-03-27T09:00:00+01:00", end: "2026-03-27T10:00:00+01:00" },
        { start: "2026-03-27T16:00:00+01:00", end: "2026-03-27T17:00:00+01:00" },
        { start: "2026-03-30T09:00:00+02:00", end: "2026-03-30T10:00:00+02:00" },
        { start: "2026-03-30T09:30:00+02:00", end: "2026-03-30T10:30:00+02:00" },
        { start: "2026-03-31T09:00:00+02:00", end: "2026-03-31T10:00:00+02:00" },
      ],
    });
    expect(await ask("POST /v1/calendars/none/availableTimes", request)).toMatchObject({ status: 404 });
  });

  test("looks for what must be free after a meeting beyond the end of the window, too", async () => {
    const { account, ask } = await startAccount();
    await account.addEvent(at(27, "12:10", "12:20"));
    const body = { ...request, timeMin: "2026-03-27T10:00:00Z", timeMax: "2026-03-27T12:00:00Z" };
    const hours = async (more: object) =>
      startsOf((await ask(AVAILABLE_TIMES, { ...body, ...more })).json["records"]).map((start) => start.slice(11, 16));
    expect(await hours({})).toEqual(["10:00", "10:30", "11:00"]);
    expect(await hours({ bufferBetweenMinutes: 10 })).toEqual(["10:00", "10:30", "11:00"]);
    expect(await hours({ bufferBetweenMinutes: 15 })).toEqual(["10:00", "10:30"]);
  });

  test("pages to the end: a time that stays available comes once, whatever changes in between", async () => {
    const { account, ask } = await startAccount({ pageSize: 3 });
    const day = { timeMin: "2026-03-27T09:00:00Z", timeMax: "2026-03-27T17:00:00Z", availabilityStep: 60 };
    const lunch = await account.addEvent(at(27, "12:00", "13:00"));
    const hours: string[] = [];
    let pageToken = "";
    do {
      const answer = await ask(`${AVAILABLE_TIMES}?pageToken=${encodeURIComponent(pageToken)}`, {
        ...request,
        ...day,
      });
      hours.push(...startsOf(answer.json["records"]).map((start) => start.slice(11, 13)));
      if (hours.length === 3) {
        await account.addEvent(at(27, "09:00", "09:30"));
        await account.addEvent(at(27, "14:00", "15:00"));
        await account.remove("/calendars/primary/events", lunch.id);
      }
      pageToken = (answer.json["nextPageToken"] as string | undefined) ?? "";
    } while (pageToken !== "");
    expect(hours).toEqual(["09", "10", "11", "12", "13", "15", "16"]);
  });
});

describe("free/busy and availability", () => {
  test.each(ROWS)(
    "%s: 401 without a token, and for an account that the service has lost its access to",
    async (row) => {
      const { emulator, account, ask } = await startAccount();
      const answer = await call(emulator, ofPrimary(row), { body: WEEK });
      expect(answer).toMatchObject({ status: 401, json: { code: "unauthorized" } });
      await account.expireCredentials();
      expect(await ask(row, WEEK)).toMatchObject({ status: 401, json: { code: "token.refresh.failed" } });
    },
  );

  const search = { ...WEEK, durationMinutes: 30 };
  const VALID: Readonly<Record<string, object>> = {
    [FREE_BUSY]: WEEK,
    [SUGGEST]: search,
    [CALENDAR_FREE_BUSY]: WEEK,
    [AVAILABLE_TIMES]: search,
  };
  const WRONG_WINDOWS = [
    ["timeMin", { timeMin: undefined }],
    ["timeMin", { timeMin: "2026-03-27T00:00:00" }],
    ["timeMax", { timeMax: "tomorrow" }],
    ["timeMin", { timeMax: WEEK.timeMin }],
  ] as const;
  const days = (workingIntervals: unknown) => ({ daySchedules: [{ dayOfWeek: "monday", workingIntervals }] });
  const WRONG_SEARCHES = [
    ["durationMinutes", { durationMinutes: 0 }],
    ["durationMinutes", { durationMinutes: undefined }],
    ["bufferBetweenMinutes", { bufferBetweenMinutes: -1 }],
    ["availabilityStep", { availabilityStep: 0 }],
    ["timeMax", { timeMax: "2099-01-01T00:00:00Z" }],
    ["defaultTimezone", { defaultTimezone: "Europe/Atlantis" }],
    ["defaultWorkHours.timezone", { defaultWorkHours: { timezone: "" } }],
    ["defaultWorkHours.daySchedules.0.dayOfWeek", { defaultWorkHours: { daySchedules: [{ dayOfWeek: "someday" }] } }],
    [
      "defaultWorkHours.daySchedules.0.workingIntervals.0.start",
      { defaultWorkHours: days([{ start: "9", end: "17:00:00" }]) },
    ],
    [
      "defaultWorkHours.daySchedules.0.workingIntervals.0.end",
      { defaultWorkHours: days([{ start: "17:00:00", end: "09:00:00" }]) },
    ],
    [
      "availabilityIntervals.intervals.0.dateStartInclusive",
      {
        availabilityIntervals: {
          intervals: [{ dateStartInclusive: "today", dateEndInclusive: "2026-03-30", hours: [] }],
        },
      },
    ],
    ["freeStatuses.0", { freeStatuses: ["maybe"] }],
  ] as const;
  const of = (row: string, wrong: readonly (readonly [string, object])[]) =>
    wrong.map(([field, body]) => [row, field, body] as const);
  const time = "2026-03-27T09:00:00Z";
  const attendee = (fields: object) => ({ attendees: [{ email: "ada@example.com", ...fields }] });

  test.each([
    ...ROWS.flatMap((row) => of(row, WRONG_WINDOWS)),
    ...[SUGGEST, AVAILABLE_TIMES].flatMap((row) => of(row, WRONG_SEARCHES)),
    ...of(FREE_BUSY, [
      ["emails", { emails: "ada@example.com" }],
      ["emails.0", { emails: ["ada"] }],
    ]),
    ...of(SUGGEST, [
      ["attendees.0.email", attendee({ email: undefined })],
      ["attendees.0.timezone", attendee({ timezone: "Mars" })],
      ["attendees.0.workHours.timezone", attendee({ workHours: { timezone: "Mars" } })],
      ["attendees.0.busyIntervals.0.start", attendee({ busyIntervals: [{ start: "9:00", end: time }] })],
      ["attendees.0.freeIntervals.0.end", attendee({ freeIntervals: [{ start: time, end: time }] })],
    ]),
  ])("%s: 400 that names the field %s, got %j", async (row, field, body) => {
    const { ask } = await startAccount();
    const { status, json } = await ask(row, { ...VALID[row], ...body });
    expect({ status, code: json["code"] }).toEqual({ status: 400, code: "badRequest" });
    expect(json["message"]).toContain(`"${field}"`);
  });

  test("400 for a page token that is none, or of the other list", async () => {
    const { account, ask } = await startAccount({ pageSize: 1 });
    await account.addEvent(at(27, "10:00", "11:00"));
    await account.addEvent(at(27, "12:00", "13:00"));
    const token = String((await ask(CALENDAR_FREE_BUSY, WEEK)).json["nextPageToken"]);
    for (const line of [`${CALENDAR_FREE_BUSY}?pageToken=x`, `${AVAILABLE_TIMES}?pageToken=${token}`])
      expect(await ask(line, search)).toMatchObject({ status: 400, json: { code: "token.notValid" } });
  });
});
