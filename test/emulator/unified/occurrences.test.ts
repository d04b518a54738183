import { describe, expect, test } from "vitest";
import { call, startReceiver } from "../support.ts";
import { DAILY, EVENTS, MARCH, NINE, startCalendar } from "./calendar-support.ts";

/** A day in Berlin, and each day after it. */
const DAYS = {
  start: { dateOnly: "2026-03-28", timezone: "Europe/Berlin" },
  end: { dateOnly: "2026-03-29", timezone: "Europe/Berlin" },
  ...DAILY,
};

describe("GET /v1/calendars/{calendarId}/events/{masterId}/series", () => {
  test("tells the recurrence, and which occurrences were changed and deleted", async () => {
    const { ask, create, update } = await startCalendar();
    const { id, ...series } = await create(DAILY);
    await update(`${id}_20260304T080000Z`, { start: { dateTime: "2026-03-04T06:00:00Z" } });
    await update(`${id}_20260303T080000Z`, { subject: "Changed" });
    await ask(`DELETE ${EVENTS}/${id}_20260302T080000Z`);
    const at = (day: string) => ({ dateTime: `2026-03-${day}T09:00:00+01:00`, timezone: "Europe/Berlin" });
    const info = (day: string, type: string) => ({
      id: `${id}_202603${day}T080000Z`,
      type,
      masterId: id,
      originalStart: at(day),
      start: at(day),
    });
    expect(await ask(`GET ${EVENTS}/${id}/series`)).toMatchObject({
      status: 200,
      json: {
        id,
        globalId: series["globalId"],
        recurrence: series["recurrence"],
        modifiedOccurrences: [
          info("03", "modified"),
          { ...info("04", "modified"), start: { dateTime: "2026-03-04T06:00:00Z" } },
        ],
        deletedOccurrences: [info("02", "deleted")],
      },
    });
    // At another time of day there are none of these occurrences.
    await update(id, { start: { dateTime: "2026-03-02T09:30:00+01:00", timezone: "Europe/Berlin" } });
    expect((await ask(`GET ${EVENTS}/${id}/series`)).json).toMatchObject({
      modifiedOccurrences: [],
      deletedOccurrences: [],
    });
  });

  test("404 for none, for an event that does not repeat, and for an occurrence; 401", async () => {
    const { emulator, ask, create } = await startCalendar();
    const { id } = await create(DAILY);
    const single = await create();
    for (const other of ["none", single.id, `${id}_20260302T080000Z`])
      expect(await ask(`GET ${EVENTS}/${other}/series`)).toMatchObject({ status: 404 });
    expect(await ask(`GET /v1/calendars/none/events/${id}/series`)).toMatchObject({ status: 404 });
    expect(await call(emulator, `GET ${EVENTS}/${id}/series`)).toMatchObject({ status: 401 });
  });
});

describe("GET /v1/calendars/{calendarId}/events/{masterId}/occurrences/{ost}", () => {
  test("gets an occurrence by its original start, in any zone, or by its day", async () => {
    const { ask, create, get, update } = await startCalendar();
    const { id } = await create(DAILY);
    await update(`${id}_20260330T070000Z`, NINE);
    const occurrence = await get(`${id}_20260330T070000Z`);
    expect(occurrence).toMatchObject({ start: NINE.start });
    for (const ost of ["2026-03-30T07:00:00Z", "2026-03-30T09:00:00.500+02:00", "2026-03-30"])
      expect(await ask(`GET ${EVENTS}/${id}/occurrences/${encodeURIComponent(ost)}`)).toMatchObject({
        status: 200,
        json: occurrence,
      });
  });

  test("of a series of days, by the day", async () => {
    const { ask, create } = await startCalendar();
    const { id } = await create(DAYS);
    for (const ost of ["2026-03-29", "2026-03-28T23:00:00Z"])
      expect((await ask(`GET ${EVENTS}/${id}/occurrences/${ost}`)).json).toMatchObject({
        id: `${id}_20260329`,
        start: { dateOnly: "2026-03-29", timezone: "Europe/Berlin" },
        end: { dateOnly: "2026-03-30" },
        occurrenceInfo: { originalStart: { dateOnly: "2026-03-29" } },
      });
    await ask(`DELETE ${EVENTS}/${id}_20260329`);
    expect(await ask(`GET ${EVENTS}/${id}/occurrences/2026-03-29`)).toMatchObject({ status: 404 });
    expect(await ask(`GET ${EVENTS}/${id}/occurrences/2026-03-30`)).toMatchObject({ status: 200 });
  });

  test("400 that names ost; 404 where the series has none then, or none is left; 401", async () => {
    const { emulator, ask, create } = await startCalendar();
    const { id } = await create(DAILY);
    for (const ost of ["soon", "2026-03-30T07:00:00", "2026-02-30"])
      expect((await ask(`GET ${EVENTS}/${id}/occurrences/${ost}`)).json["message"]).toContain('"ost"');
    await ask(`DELETE ${EVENTS}/${id}_20260303T080000Z`);
    for (const ost of ["2026-03-30T08:00:00Z", "2026-03-01", "2026-03-03", "2026-03-03T08:00:00Z"])
      expect(await ask(`GET ${EVENTS}/${id}/occurrences/${ost}`)).toMatchObject({ status: 404 });
    expect(await ask(`GET ${EVENTS}/none/occurrences/2026-03-30`)).toMatchObject({ status: 404 });
    expect(await call(emulator, `GET ${EVENTS}/${id}/occurrences/2026-03-30`)).toMatchObject({ status: 401 });
  });
});

describe("PUT /v1/calendars/{calendarId}/events/{eventId}/response", () => {
  const attendees = [
    { emailAddress: { address: "ADA@example.com" }, type: "required" },
    { emailAddress: { address: "grace@example.com" }, type: "optional" },
  ];

  test.each(["accepted", "tentative", "declined"])("answers %s, for the account alone", async (response) => {
    const { ask, create, get } = await startCalendar();
    const { id } = await create({ meetingInfo: { attendees, attendeePermissions: ["modify"] } });
    const answer = await ask(`PUT ${EVENTS}/${id}/response?notifyAttendees=false`, { response, comment: "Welcome" });
    expect(answer).toMatchObject({ status: 200, json: { status: "Ok" } });
    expect((await get(id))["meetingInfo"]).toEqual({
      response,
      attendeePermissions: ["modify"],
      attendees: [{ ...attendees[0], response, comment: "Welcome" }, attendees[1]],
    });
  });

  test("the spelling of tentative among the attendees is an option", async () => {
    const { ask, create, get } = await startCalendar({ variants: { tentative: "tentitive" } });
    const { id } = await create({ meetingInfo: { attendees } });
    await ask(`PUT ${EVENTS}/${id}/response`, { response: "tentative" });
    expect((await get(id))["meetingInfo"]).toMatchObject({
      response: "tentative",
      attendees: [{ response: "tentitive" }, {}],
    });
  });

  test("to an occurrence is to that one alone", async () => {
    const { ask, create, list } = await startCalendar();
    const { id } = await create({ ...DAILY, meetingInfo: { attendees } });
    await ask(`PUT ${EVENTS}/${id}_20260303T080000Z/response`, { response: "declined" });
    const answers = (await list(`range?${MARCH}`)).map(
      ({ meetingInfo }) => (meetingInfo as { readonly response?: string }).response,
    );
    expect(answers).toEqual([undefined, "declined", undefined]);
  });

  test("400 that names the field, 403 in another account's calendar, 404 and 401", async () => {
    const { emulator, ask, create, theirs } = await startCalendar();
    const { id } = await create();
    const line = `PUT ${EVENTS}/${id}/response`;
    for (const body of [{}, { response: "yes" }, { response: "tentitive" }])
      expect((await ask(line, body)).json["message"]).toContain('"response"');
    expect((await ask(line, { response: "accepted", comment: 7 })).json["message"]).toContain('"comment"');
    expect((await ask(`${line}?notifyAttendees=x`, { response: "accepted" })).json["message"]).toContain("notify");
    const body = { response: "accepted" };
    expect(await ask(`PUT /v1/calendars/${await theirs()}/events/x/response`, body)).toMatchObject({ status: 403 });
    expect(await ask(`PUT ${EVENTS}/none/response`, body)).toMatchObject({ status: 404 });
    expect(await call(emulator, line, { body })).toMatchObject({ status: 401 });
  });
});

describe("GET /v1/calendars/{calendarId}/events/{eventId}/attachments/{attachmentId}", () => {
  const content = Buffer.from("Hello").toString("base64");

  test("gets the content, which the event does not show and which stays when the event is sent back", async () => {
    const { ask, create, get, update } = await startCalendar();
    const event = await create({ ...DAILY, attachments: [{ name: "a.txt", mimeType: "text/plain", content }] });
    expect(event).toMatchObject({ hasAttachments: true });
    const shown = [{ id: "a-1", name: "a.txt", mimeType: "text/plain", size: 5 }];
    expect(event["attachments"]).toEqual(shown);
    const more = { name: "b.txt", content: "" };
    await update(event.id, { attachments: [more, ...shown] });
    expect(await get(event.id)).toMatchObject({ attachments: [{ id: "a-2", name: "b.txt", size: 0 }, ...shown] });
    for (const id of [event.id, `${event.id}_20260302T080000Z`]) {
      expect(await ask(`GET ${EVENTS}/${id}/attachments/a-1`)).toMatchObject({ status: 200, json: { content } });
      expect((await ask(`GET ${EVENTS}/${id}/attachments/a-2`)).json).toEqual({ content: "" });
    }
  });

  test("of an event that a test gave", async () => {
    const { account, ask } = await startCalendar();
    const { id } = await account.addEvent({ ...NINE, attachments: [{ content }, { id: "x", content }] });
    for (const attachment of ["a-1", "x"])
      expect((await ask(`GET ${EVENTS}/${id}/attachments/${attachment}`)).json).toEqual({ content });
  });

  test("404 for none, and 401", async () => {
    const { emulator, ask, create } = await startCalendar();
    const { id } = await create();
    expect(await ask(`GET ${EVENTS}/${id}/attachments/a-1`)).toMatchObject({ status: 404 });
    expect(await ask(`GET ${EVENTS}/none/attachments/a-1`)).toMatchObject({ status: 404 });
    expect(await ask(`GET /v1/calendars/none/events/${id}/attachments/a-1`)).toMatchObject({ status: 404 });
    expect(await call(emulator, `GET ${EVENTS}/${id}/attachments/a-1`)).toMatchObject({ status: 401 });
  });
});

test("every change is announced; that of an occurrence as an update of its series", async () => {
  const { emulator, account, ask, create, update } = await startCalendar();
  const receiver = await startReceiver();
  await emulator.subscribe(account, "/calendars/primary/events", receiver.url);
  const { id } = await create(DAILY);
  const first = `${id}_20260302T080000Z`;
  await update(first, { subject: "Changed" });
  await ask(`PUT ${EVENTS}/${first}/response`, { response: "accepted" });
  await ask(`DELETE ${EVENTS}/${first}`);
  await update(id, { subject: "All" });
  await ask(`DELETE ${EVENTS}/${id}`);
  await emulator.settled();
  expect(receiver.received.map(({ body }) => (JSON.parse(body) as { readonly payloads: unknown }).payloads)).toEqual(
    ["created", "updated", "updated", "updated", "updated", "deleted"].map((changeType) => [{ id, changeType }]),
  );
});
