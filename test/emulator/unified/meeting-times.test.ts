import { describe, expect, test } from "vitest";
import { call } from "../support.ts";
import { WEEK, OFFICE_DAYS, SUGGEST, AVAILABLE_TIMES, startAccount, at, startsOf } from "./availability-support.ts";

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
