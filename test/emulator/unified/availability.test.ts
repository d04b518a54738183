import { describe, expect, test } from "vitest";
import { call } from "../support.ts";
import {
  WEEK,
  OFFICE_DAYS,
  FREE_BUSY,
  SUGGEST,
  CALENDAR_FREE_BUSY,
  AVAILABLE_TIMES,
  ROWS,
  startAccount,
  ofPrimary,
  at,
} from "./availability-support.ts";

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
