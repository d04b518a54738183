import { describe, expect, test } from "vitest";
import { createClient, ServiceError, type Client } from "../../src/client.ts";
import { bothTokens, PEOPLE_USES } from "./people-rows.ts";
import { FURTHER_ROWS, UNIFIED_ROWS, type Row } from "./protocol-table.ts";
import { skippingClock, startService } from "./support.ts";

const window = { timeMin: new Date("2026-03-01T00:00:00Z"), timeMax: "2026-03-08T00:00:00+01:00" };
const zone = { durationMinutes: 30, defaultTimezone: "Europe/Berlin" };
const calendar = { id: "c-1" };
const event = { id: "e-1", start: {} };
const message = { id: "m-1" };
const page = { records: [] };
const started = { syncUpdatedToken: "u", syncDeletedToken: "d", ready: true };
const subscription = { id: "1001", resource: "/email/messages", notificationUrl: "https://app.example.com" };

/** How a row is called with all of its parameters, and an answer that it takes. */
interface Use {
  readonly call: (client: Client) => Promise<unknown>;
  readonly answer: unknown;
}

const USES: Readonly<Record<string, Use>> = {
  "POST /v1/calendars/freeBusy": {
    call: (client) => client.freeBusy({ ...window, emails: ["grace@example.com"] }).page(),
    answer: page,
  },
  "POST /v1/calendars/suggestMeetingTimes": {
    call: (client) => client.suggestMeetingTimes({ ...window, ...zone, attendees: [{ email: "grace@example.com" }] }),
    answer: { items: [] },
  },
  "POST /v1/calendars/{calendarId}/freeBusy": {
    call: (client) => client.calendar("c-1").freeBusy(window).page("p"),
    answer: page,
  },
  "POST /v1/calendars/{calendarId}/availableTimes": {
    call: (client) =>
      client
        .calendar("c-1")
        .availableTimes({ ...window, ...zone })
        .page("p"),
    answer: { items: [] },
  },
  "GET /v1/calendars": {
    call: (client) => client.calendars.list({ withShared: true, mode: "user" }).page("p"),
    answer: page,
  },
  "POST /v1/calendars": { call: (client) => client.calendars.create({ name: "Team" }), answer: calendar },
  "GET /v1/calendars/{id}": { call: (client) => client.calendars.get("c-1"), answer: calendar },
  "PATCH /v1/calendars/{id}": { call: (client) => client.calendars.update("c-1", { name: "Team" }), answer: calendar },
  "POST /v1/calendars/{calendarId}/sync": {
    call: (client) => client.calendar("c-1").sync.start(window),
    answer: started,
  },
  "GET /v1/calendars/{calendarId}/sync/updated": {
    call: (client) => bothTokens(client.calendar("c-1").sync.updated({ deltaToken: "d" })),
    answer: page,
  },
  "GET /v1/calendars/{calendarId}/sync/deleted": {
    call: (client) => bothTokens(client.calendar("c-1").sync.deleted({ deltaToken: "d" })),
    answer: page,
  },
  "GET /v1/calendars/{calendarId}/events/range": {
    call: (client) => client.calendar("c-1").events.range(window).page("p"),
    answer: page,
  },
  "GET /v1/calendars/{calendarId}/events/find": {
    call: (client) =>
      client
        .calendar("c-1")
        .events.find({ iCalUId: ["a", "b"] })
        .page("p"),
    answer: page,
  },
  "GET /v1/calendars/{calendarId}/events/{eventId}": {
    call: (client) => client.calendar("c-1").events.get("e-1", { nativeProperties: ["color"] }),
    answer: event,
  },
  "POST /v1/calendars/{calendarId}/events": {
    call: (client) =>
      client
        .calendar("c-1")
        .events.create(
          { subject: "Review", start: {}, end: {} },
          { notifyAttendees: false, bodyType: "text", returnRecord: true },
        ),
    answer: event,
  },
  "PATCH /v1/calendars/{calendarId}/events/{eventId}": {
    call: (client) =>
      client
        .calendar("c-1")
        .events.update("e-1", { subject: "Later" }, { ifMatch: '"1"', notifyAttendees: false, returnRecord: false }),
    answer: { id: "e-1" },
  },
  "DELETE /v1/calendars/{calendarId}/events/{eventId}": {
    call: (client) => client.calendar("c-1").events.delete("e-1", { notifyAttendees: false }),
    answer: undefined,
  },
  "GET /v1/calendars/{calendarId}/events/{masterId}/series": {
    call: (client) => client.calendar("c-1").events.series("e-1"),
    answer: { id: "e-1" },
  },
  "GET /v1/calendars/{calendarId}/events/{masterId}/occurrences/{ost}": {
    call: (client) => client.calendar("c-1").events.occurrence("e-1", new Date("2026-03-02T09:00:00Z")),
    answer: event,
  },
  "PUT /v1/calendars/{calendarId}/events/{eventId}/response": {
    call: (client) =>
      client
        .calendar("c-1")
        .events.respond("e-1", { response: "accepted", comment: "Gladly" }, { notifyAttendees: false }),
    answer: { status: "Ok" },
  },
  "GET /v1/calendars/{calendarId}/events/{eventId}/attachments/{attachmentId}": {
    call: (client) => client.calendar("c-1").events.attachment("e-1", "a-1"),
    answer: { content: "AAE=" },
  },
  "POST /v1/email/sync": {
    call: (client) => client.messages.sync.start({ daysWithin: 30, bodyType: "text" }),
    answer: started,
  },
  "GET /v1/email/sync/updated": {
    call: (client) => bothTokens(client.messages.sync.updated({ deltaToken: "d" })),
    answer: page,
  },
  "GET /v1/email/sync/deleted": {
    call: (client) => bothTokens(client.messages.sync.deleted({ deltaToken: "d" })),
    answer: page,
  },
  "GET /v1/email/messages": {
    call: (client) =>
      client.messages
        .list({ q: "from:grace", bodyType: "text", includeTrashAndJunk: true, nativeProperties: ["a", "b"] })
        .page("p"),
    answer: page,
  },
  "POST /v1/email/messages": {
    call: (client) =>
      client.messages.send({ subject: "Hello", body: "", to: [], cc: [] }, { bodyType: "text", returnIds: true }),
    answer: { status: "Ok" },
  },
  "GET /v1/email/messages/{messageId}": {
    call: (client) =>
      client.messages.get("m-1", {
        bodyType: "text",
        nativeProperties: ["a"],
        loadInlines: true,
        stripQuoted: true,
        requireThreadId: false,
        resolveDraftId: true,
      }),
    answer: message,
  },
  "DELETE /v1/email/messages/{messageId}": {
    call: (client) => client.messages.trash("m-1"),
    answer: { status: "Ok" },
  },
  "GET /v1/email/messages/{messageId}/raw": { call: (client) => client.messages.raw("m-1"), answer: "From: x" },
  "POST /v1/email/messages/{messageId}/status": {
    call: (client) => client.messages.setStatus("m-1", { unread: false }),
    answer: { status: "Ok" },
  },
  "GET /v1/email/conversations/{threadId}": {
    call: (client) => client.conversations.get("t-1", { bodyType: "text" }).page("p"),
    answer: page,
  },
  "GET /v1/email/conversations/{threadId}/followup": {
    call: (client) => client.conversations.followup("t-1", { bodyType: "text", skipMailboxCheck: true }),
    answer: {},
  },
  "POST /v1/subscriptions": {
    call: (client) =>
      client.subscriptions.create({ resource: "/email/messages", notificationUrl: "https://app.example.com" }),
    answer: subscription,
  },
  "DELETE /v1/subscriptions/{id}": { call: (client) => client.subscriptions.delete(1001), answer: undefined },
  "GET /v1/subscriptions": {
    call: (client) => client.subscriptions.list({ includeInactive: true }).page("50"),
    answer: page,
  },
  "GET /v1/subscriptions/{id}": { call: (client) => client.subscriptions.get(1001), answer: subscription },
  ...PEOPLE_USES,
};

const ROWS = [...UNIFIED_ROWS, ...FURTHER_ROWS].map((row) => ({ row, name: `${row.method} ${row.path}` }));

test("the protocol has 34 rows, and each has a member", () => {
  expect(UNIFIED_ROWS).toHaveLength(34);
  expect(Object.keys(USES).toSorted()).toEqual(ROWS.map(({ name }) => name).toSorted());
});

describe.each(ROWS)("$name", ({ row, name }) => {
  const { call, answer } = USES[name] as Use;

  test("is sent as the table says, with all of its parameters", async () => {
    const service = await startService(() => ({
      status: row.success,
      ...(typeof answer === "string" ? { text: answer } : { json: answer }),
    }));
    await call(createClient({ token: "t-1", baseUrl: service.url }));
    for (const request of service.requests) {
      expect(request.method).toBe(row.method);
      expect(request.path).toMatch(patternOf(row));
      expect(request.headers.authorization).toBe("Bearer t-1");
      for (const header of row.headers ?? []) expect(request.headers).toHaveProperty(header);
    }
    const query = new Set(service.requests.flatMap((request) => request.query.map(([parameter]) => parameter)));
    expect([...query].toSorted()).toEqual([...(row.query ?? [])].toSorted());
    const [{ body } = { body: undefined }] = service.requests;
    expect(Object.keys(body ?? {}).toSorted()).toEqual([...(row.body ?? [])].toSorted());
  });

  test.each([200, 201, 202])("takes %d as a success", async (status) => {
    const service = await startService(() => ({
      status,
      ...(typeof answer === "string" ? { text: answer } : { json: answer }),
    }));
    await expect(call(createClient({ token: "t-1", baseUrl: service.url }))).resolves.not.toThrow();
  });

  test.each([401, 500, ...(row.errors ?? [])])("rejects with a ServiceError for %d", async (status) => {
    const service = await startService(() => ({ status, json: { code: "x", message: "y", requestId: "r" } }));
    const client = createClient({ token: "t-1", baseUrl: service.url, clock: skippingClock() });
    const error: unknown = await call(client).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({ status, serviceCode: "x", requestId: "r" });
    expect((error as Error).message).toContain(name);
  });
});

function patternOf({ path }: Row): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
}
