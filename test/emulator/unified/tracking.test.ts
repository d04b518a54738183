import { expect, test } from "vitest";
import { NotFound } from "../../../src/client.ts";
import { all, startMail } from "./mail-support.ts";

const TO = [{ address: "ada@example.com" }];

/** Two tracked messages, the first of which was opened twice and answered. */
async function startTracked() {
  const mail = await startMail({ pageSize: 2 }, "/email/tracking");
  const { emulator, account, client } = mail;
  const send = (context: string) =>
    client.messages.send({ to: TO, tracking: { opens: true, threadReplies: true, context } }, { returnIds: true });
  const first = await send("deal-9");
  const second = await send("deal-10");
  await emulator.advance(60_000);
  await emulator.open({ id: first.id ?? "" }, { userAgent: "Firefox", location: "Rome, Italy" });
  await emulator.open({ id: first.id ?? "" }, { userAgent: "curl" });
  await emulator.advance(60_000);
  await account.receiveMail({ inReplyTo: first.submittedMessageId });
  return { ...mail, first, second };
}

test("GET /v1/email/tracking and GET /v1/email/tracking/{id}", async () => {
  const { tracking, draftTracking, first } = await startTracked();
  expect(await tracking.get(3001)).toEqual({
    id: 3001,
    messageId: first.id,
    inetMessageId: first.submittedMessageId,
    threadId: first.threadId,
    sendDate: "2026-01-02T03:04:05.000Z",
    lastActivityTime: "2026-01-02T03:06:05.000Z",
    lastRespondedTime: "2026-01-02T03:06:05.000Z",
    trackReplies: true,
    trackOpens: true,
    trackingCode: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    context: "deal-9",
    location: "Paris, France",
    userAgent: "curl",
    remoteAddr: "192.0.2.7",
    openCount: 2,
    ignoreOpenClicks: false,
    hasBounced: false,
  });
  await draftTracking.create("d-1", { htmlText: "" }, { ignoreNotFound: true });
  const idsOf = async (options?: object) => (await all(tracking.list(options))).map(({ id }) => id);
  expect(await idsOf()).toEqual([3001, 3002, 3003]);
  expect(await idsOf({ withActivityOnly: true })).toEqual([3001]);
  expect(await idsOf({ contextContains: "deal-1" })).toEqual([3002]);
  expect(await idsOf({ threadId: first.threadId })).toEqual([3001]);
  expect(await idsOf({ showSentOnly: true })).toEqual([3001, 3002]);
  expect(await tracking.list().page()).toMatchObject({ nextPageToken: "2" });
  await expect(tracking.get(7)).rejects.toThrow(NotFound);
});

test("GET /v1/email/tracking/events, .../{id}/events and .../{trackingId}/events/{id}, as they are announced", async () => {
  const { tracking, second, notified } = await startTracked();
  const announced = await notified();
  expect(announced.map(({ eventType }) => eventType)).toEqual(["initial", "initial", "open", "open", "reply"]);
  expect(await all(tracking.events())).toEqual(announced);
  const from = "2026-01-02T03:05:00Z";
  expect(await all(tracking.events({ from, to: new Date("2026-01-02T03:05:05Z") }))).toEqual(announced.slice(2, 4));
  expect(await all(tracking.events({ threadId: second.threadId }))).toEqual(announced.slice(1, 2));
  expect(await all(tracking.eventsOf(3002))).toEqual(announced.slice(1, 2));
  expect(await tracking.event(3001, 3)).toEqual(announced[2]);
  await expect(tracking.event(3002, 3)).rejects.toThrow(NotFound);
});

test("POST /v1/email/tracking/purgeMyTracking forgets the openings by that program", async () => {
  const { tracking, second } = await startTracked();
  await tracking.purge({ threadId: second.threadId, userAgent: "curl" });
  expect(await tracking.get(3001)).toMatchObject({ openCount: 2 });
  await tracking.purge({ userAgent: "curl" });
  expect(await tracking.get(3001)).toMatchObject({ openCount: 1, userAgent: "Firefox", location: "Rome, Italy" });
});

test("POST /v1/email/tracking/ignoreOpenClicks: openings cause nothing until they count again", async () => {
  const { emulator, tracking, first, second, notified } = await startTracked();
  await notified();
  const open = (mail: { readonly id?: string }) => emulator.open({ id: mail.id ?? "" });
  await tracking.ignoreOpens({ messageId: first.id }, true);
  await tracking.ignoreOpens({ inetMessageId: second.submittedMessageId }, true);
  await open(first);
  await open(second);
  expect(await notified()).toEqual([]);
  expect(await tracking.get(3002)).toMatchObject({ openCount: 0, ignoreOpenClicks: true });
  await tracking.ignoreOpens({ messageId: second.id }, false);
  await open(second);
  expect(await notified()).toMatchObject([{ eventType: "open", trackingId: 3002 }]);
  await expect(tracking.ignoreOpens({ messageId: "none" }, true)).rejects.toThrow(NotFound);
  await expect(tracking.ignoreOpens({}, true)).rejects.toMatchObject({ status: 400 });
});

test("the id of a tracking is a text in the answer to a sending, or a number (`variants`)", async () => {
  const send = async (trackingId?: "text" | "number") => {
    const { client } = await startMail({ variants: { trackingId } });
    const body = { to: TO, tracking: {} };
    const raw = await client.request<{ trackingId: unknown }>("POST", "/v1/email/messages", { body });
    return [raw.trackingId, (await client.messages.send(body)).trackingId];
  };
  expect(await send()).toEqual(["3001", 3002]);
  expect(await send("number")).toEqual([3001, 3002]);
});

test("an opening is told of to nobody while the subscription is errored", async () => {
  const { account, emulator, first, notified } = await startTracked();
  await notified();
  await account.expireCredentials();
  expect(await notified()).toMatchObject([{ lifecycleEvent: "error" }]);
  await emulator.open({ id: first.id ?? "" });
  expect(await notified()).toEqual([]);
  await account.restoreCredentials();
  await emulator.open({ id: first.id ?? "" });
  expect(await notified()).toMatchObject([{ lifecycleEvent: "active" }, { eventType: "open", openNumber: 4 }]);
});
