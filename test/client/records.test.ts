import { describe, expect, test } from "vitest";
import { createClient, type Client } from "../../src/client.ts";
import { startService } from "./support.ts";

/** What a call gives for an answer. */
async function answered<T>(json: unknown, call: (client: Client) => Promise<T>): Promise<T> {
  const { url } = await startService(() => ({ json }));
  return call(createClient({ baseUrl: url, token: "t", retry: false }));
}

const RECORDED_EVENT = {
  id: "AAMk-1",
  etag: 'W/"7"',
  calendarId: "AQMk",
  iCalUid: "040000008200E",
  subject: "Review",
  start: { dateTime: "2026-03-02T09:00:00+01:00", timezone: "Europe/Berlin" },
  end: { dateOnly: "2026-03-03", timezone: "Europe/Berlin" },
  organizer: { id: "o-1", emailAddress: { name: "Ada Byron", address: "ada@example.com", raw: "Ada" } },
  meetingInfo: {
    canceled: false,
    response: "accepted",
    attendees: [
      { emailAddress: { address: "grace@example.com", raw: "Grace" }, type: "chair", response: "tentitive" },
      "not an attendee",
    ],
    onlineMeetingProvider: "teams",
  },
  recurrenceType: "exception",
  recurrence: { original: "ical", ical: { rules: ["RRULE:FREQ=DAILY"] } },
  showAs: "workingElsewhere",
  reminder: { useDefault: true },
  omitted: ["description"],
  addedLater: { deep: [1, null] },
};

const RECORDED_MESSAGE = {
  id: "AAMk-2",
  threadId: null,
  subject: "Engine notes",
  from: { name: "Grace Hopper", address: "grace@example.com", raw: "Grace Hopper <grace@example.com>" },
  to: [{ address: "ada@example.com" }],
  sysLabels: ["inbox", "snoozed"],
  sysClassifications: ["personal"],
  body: "<p>Notes</p>",
  size: 5,
  attachments: [{ id: "a-1", name: "plan.pdf", mimeType: "application/pdf", size: 1_024, inline: false, url: "u" }],
  omitted: ["threadId"],
  nativeProperties: { x: "1" },
};

describe("a recorded answer", () => {
  test("of an event keeps what is not typed, and values that the service has added", async () => {
    const event = await answered(RECORDED_EVENT, (client) => client.calendar("c").events.get("e"));
    const { meetingInfo, ...rest } = RECORDED_EVENT;
    expect(event).toEqual({
      ...rest,
      iCalUId: "040000008200E",
      meetingInfo: { ...meetingInfo, attendees: [meetingInfo.attendees[0]] },
    });
  });

  test("of a message leaves out what is null", async () => {
    const message = await answered(RECORDED_MESSAGE, (client) => client.messages.get("m"));
    const { threadId: _, ...rest } = RECORDED_MESSAGE;
    expect(message).toEqual(rest);
  });

  test("leaves out a typed field of another type, and nothing else", async () => {
    const odd = { ...RECORDED_MESSAGE, subject: 5, from: "Grace", to: "Ada", hasAttachments: "yes", attachments: 3 };
    const message = await answered(odd, (client) => client.messages.get("m"));
    expect(message).toMatchObject({ id: "AAMk-2", sysLabels: ["inbox", "snoozed"] });
    for (const field of ["subject", "from", "to", "hasAttachments", "attachments"])
      expect(message).not.toHaveProperty(field);
  });

  test.each<[string, (client: Client) => Promise<unknown>]>([
    ["an event", (client) => client.calendar("c").events.get("e")],
    ["a message", (client) => client.messages.get("m")],
    ["a calendar", (client) => client.calendars.get("c")],
    ["a subscription", (client) => client.subscriptions.get(1)],
    ["a contact", (client) => client.contacts.get("k")],
    ["a saved event", (client) => client.calendar("c").events.create({})],
  ])("of %s without an id is refused", async (_name, call) => {
    await expect(answered({ resource: "x", notificationUrl: "y" }, call)).rejects.toMatchObject({
      code: "service-answer-invalid",
    });
  });

  test.each([
    ["87665448354", 87_665_448_354],
    [1001, 1001],
  ])("of a subscription has the id %o as a number", async (id, expected) => {
    const json = { id, resource: "/contacts", notificationUrl: "https://app.example.com", isNew: true };
    expect(await answered(json, (client) => client.subscriptions.get(1))).toEqual({ ...json, id: expected });
  });

  test.each<[string, unknown, unknown]>([
    ["the record itself", RECORDED_EVENT, { id: "AAMk-1", subject: "Review" }],
    ["an object that has the record", { id: "AAMk-1", etag: "7", record: RECORDED_EVENT }, { subject: "Review" }],
  ])("of a saved event is %s", async (_name, json, expected) => {
    const saved = await answered(json, (client) => client.calendar("c").events.create({}));
    expect(saved).toMatchObject({ id: "AAMk-1", record: expected });
  });

  test("of a saved event without its record is its id", async () => {
    const json = { id: "e-1", etag: "7", iCalUId: "u" };
    const create = (client: Client) => client.calendar("c").events.create({}, { returnRecord: false });
    expect(await answered(json, create)).toEqual(json);
  });

  test.each(["AAEC/w==", "AAEC_w"])("of an attachment is its bytes: %s", async (content) => {
    const attachment = await answered({ content }, (client) => client.calendar("c").events.attachment("e", "a"));
    expect([...attachment.content]).toEqual([0, 1, 2, 255]);
  });

  test("of an attachment that is no base64 is refused", async () => {
    const call = (client: Client) => client.calendar("c").events.attachment("e", "a");
    await expect(answered({ content: "*" }, call)).rejects.toThrow('its field "content" is no base64');
  });

  test("of a sync that is not ready has no tokens", async () => {
    const start = (client: Client) => client.messages.sync.start({ daysWithin: 30 });
    const notReady = { syncUpdatedToken: "", syncDeletedToken: "", ready: false };
    expect(await answered({ ready: false }, start)).toEqual(notReady);
    expect(await answered({ ready: false, syncUpdatedToken: null }, start)).toEqual(notReady);
    await expect(answered({ ready: true, syncUpdatedToken: "u" }, start)).rejects.toThrow("lacks a token");
  });

  test.each([{ items: [{ start: "a" }] }, { records: [{ start: "a" }] }])("of available times is %o", async (json) => {
    const window = { timeMin: new Date(0), timeMax: new Date(1_000) };
    const request = { ...window, durationMinutes: 30, defaultTimezone: "UTC" };
    const page = await answered(json, (client) => client.calendar("c").availableTimes(request).page());
    expect(page.records).toEqual([{ start: "a" }]);
  });

  test("of busy times keeps an error of one mailbox", async () => {
    const records = [
      { email: "ada@example.com", items: [{ start: "a", end: "b", status: "workingElsewhere" }] },
      { email: "grace@example.com", error: { code: "notFound" }, workHours: {} },
    ];
    const request = { timeMin: new Date(0), timeMax: new Date(1_000), emails: [] };
    expect((await answered({ records }, (client) => client.freeBusy(request).page())).records).toEqual(records);
  });

  test("of a follow-up has the last mail as a message, or none", async () => {
    const followup = (client: Client) => client.conversations.followup("t");
    expect(await answered({ lastSentEmail: null, mailboxError: null }, followup)).toEqual({ mailboxError: null });
    const status = await answered({ lastSentEmail: RECORDED_MESSAGE, followup: { ruleId: 1 } }, followup);
    expect(status).toMatchObject({ lastSentEmail: { id: "AAMk-2" }, followup: { ruleId: 1 } });
  });
});
