import { describe, expect, test } from "vitest";
import { NotFound } from "../../../src/client.ts";
import { DAY_MS } from "../support.ts";
import { all, startMail } from "./mail-support.ts";

const TO = [{ address: "ada@example.com" }];

describe("drafts", () => {
  test("POST /v1/email/drafts, GET, PUT and DELETE /v1/email/drafts/{draftId}", async () => {
    const { client, drafts, notified } = await startMail();
    const { id } = await drafts.create({ subject: "Offer", body: "1 < 2" }, { bodyType: "text" });
    const { message, ...draft } = await drafts.get(id);
    expect(draft).toEqual({ id });
    expect(message).toMatchObject({
      subject: "Offer",
      body: "<p>1 &lt; 2</p>",
      sysLabels: ["draft"],
      folderId: "f-draft",
    });
    expect((await client.messages.get(message.id, { resolveDraftId: true })).draftId).toBe(id);
    expect(await drafts.replace(id, { body: "<p>New</p>", to: TO })).toEqual({ id });
    const replaced = await drafts.get(id, { bodyType: "text" });
    expect(replaced.message).toMatchObject({
      id: message.id,
      subject: "",
      body: "New",
      to: TO,
      threadId: message.threadId,
    });
    await drafts.delete(id);
    await expect(drafts.get(id)).rejects.toThrow(NotFound);
    expect((await notified()).map(({ changeType }) => changeType)).toEqual(["created", "updated", "deleted"]);
    const sent = await client.messages.send({ to: TO }, { returnIds: true });
    await expect(drafts.get(`draft-${sent.id}`)).rejects.toThrow(NotFound);
  });

  test("POST /v1/email/drafts/{draftId}/send sends at once: the draft becomes another message", async () => {
    const { emulator, client, drafts, notified } = await startMail();
    const ada = await emulator.account({ email: "ada@example.com" });
    const { id } = await drafts.create({ subject: "Offer", body: "<p>Hi</p>", to: TO, inReplyTo: "<x@example.com>" });
    await notified();
    expect(await drafts.send(id)).toEqual({ status: "Ok" });
    const [sent] = await all(client.messages.list());
    expect(sent).toMatchObject({
      subject: "Offer",
      body: "<p>Hi</p>",
      to: TO,
      sysLabels: ["sent"],
      folderId: "f-sent",
    });
    expect(await notified()).toMatchObject([
      { id: id.replace("draft-", ""), changeType: "deleted" },
      { id: sent?.id, changeType: "created" },
    ]);
    const response = await fetch(`${emulator.url}/v1/email/messages`, {
      headers: { Authorization: `Bearer ${ada.token}` },
    });
    expect(await response.json()).toMatchObject({ records: [{ subject: "Offer" }] });
    await expect(drafts.send(id)).rejects.toThrow(NotFound);
    const { id: without } = await drafts.create({ subject: "To nobody" });
    await expect(drafts.send(without)).rejects.toMatchObject({ status: 400 });
    expect((await drafts.get(without)).message.subject).toBe("To nobody");
  });

  test("... with tracking, its own or that which the draft was written with", async () => {
    const { drafts, notified } = await startMail({}, "/email/tracking");
    const plain = await drafts.create({ to: TO });
    expect(await drafts.send(plain.id, { tracking: { opens: true, context: "a" } })).toMatchObject({
      trackingId: 3001,
    });
    const tracked = await drafts.create({ to: TO, tracking: { opens: true, context: "b" } });
    expect(await drafts.send(tracked.id)).toEqual({ status: "Ok", trackingId: 3002 });
    expect(await notified()).toMatchObject([
      { eventType: "initial", context: "a", trackingId: 3001 },
      { eventType: "initial", context: "b", trackingId: 3002 },
    ]);
  });

  test("... at a time: it waits, can be put off, and fails where the account is lost", async () => {
    const { emulator, account, client, drafts } = await startMail();
    const at = (days: number) => new Date(emulator.clock.now() + days * DAY_MS);
    const sentOnes = async () =>
      (await all(client.messages.list())).filter(({ sysLabels }) => sysLabels?.includes("sent"));
    const { id } = await drafts.create({ subject: "Later", to: TO });
    const sendTime = at(40);
    expect(await drafts.send(id, { sendTime: at(1) })).toEqual({ status: "Scheduled" });
    expect(await drafts.send(id, { sendTime })).toEqual({ status: "Scheduled" });
    expect((await drafts.get(id)).scheduled).toEqual({
      jobId: 2,
      sendTime: sendTime.toISOString(),
      status: "scheduled",
    });
    await emulator.advance(39 * DAY_MS);
    expect(await sentOnes()).toEqual([]);
    await emulator.advance(DAY_MS);
    expect(await sentOnes()).toMatchObject([{ subject: "Later" }]);
    await expect(drafts.get(id)).rejects.toThrow(NotFound);

    const deleted = await drafts.create({ to: TO });
    await drafts.send(deleted.id, { sendTime: at(1) });
    await drafts.delete(deleted.id);
    const lost = await drafts.create({ to: TO });
    await drafts.send(lost.id, { sendTime: at(1) });
    await account.expireCredentials();
    await emulator.advance(DAY_MS);
    await account.restoreCredentials();
    expect((await drafts.get(lost.id)).scheduled).toMatchObject({ status: "failed", errorMessage: /access/ });
    expect(await sentOnes()).toHaveLength(1);
    await drafts.send(lost.id, { sendTime: at(-1) });
    expect(await sentOnes()).toHaveLength(2);
    await expect(drafts.send(lost.id, { sendTime: "tomorrow" })).rejects.toMatchObject({ code: "time-invalid" });
  });
});

describe("tracking of drafts", () => {
  test("POST /v1/email/draftTracking/create, PATCH .../{draftId} and .../{draftId}/convert", async () => {
    const { emulator, client, draftTracking, tracking, notified } = await startMail({}, "/email/tracking");
    const body = { htmlText: "<p>Hi</p>", tracking: { opens: true, threadReplies: true, context: "deal-9" } };
    await expect(draftTracking.create("none", body)).rejects.toThrow(NotFound);
    const prepared = await draftTracking.create("outlook-1", body, { ignoreNotFound: true });
    expect(prepared).toMatchObject({ trackReplies: true, context: "deal-9", trackingId: 3001, linkCodes: [] });
    const picture = /^<p>Hi<\/p><img src="([^"]+)">$/.exec(prepared.htmlBody)?.[1] ?? "";
    await fetch(picture); // by its author
    expect(await notified()).toEqual([]);
    await draftTracking.update("outlook-1", { context: "deal-10" });
    const sent = await client.messages.send({ to: TO }, { returnIds: true });
    await draftTracking.convert("outlook-1", { messageId: sent.id });
    await emulator.advance(10_000);
    await fetch(picture);
    expect(await notified()).toMatchObject([
      { eventType: "initial", context: "deal-10", messageId: sent.id, threadId: sent.threadId },
      { eventType: "open", openNumber: 1, trackingMessageId: sent.id },
    ]);
    expect(await tracking.get(3001)).toMatchObject({ messageId: sent.id, inetMessageId: sent.submittedMessageId });
    await expect(draftTracking.convert("outlook-1", {})).rejects.toThrow(NotFound);
    await draftTracking.create("outlook-2", { htmlText: "" }, { ignoreNotFound: true });
    await draftTracking.convert("outlook-2", { messageId: "elsewhere", threadId: "t-9" });
    expect(await tracking.get(3002)).toMatchObject({ messageId: "elsewhere", threadId: "t-9", trackOpens: false });
  });

  test("begins by itself where the service sends the draft", async () => {
    const { drafts, draftTracking, tracking } = await startMail();
    const { id } = await drafts.create({ to: TO });
    await draftTracking.create(id, { htmlText: "", tracking: { opens: true } });
    expect((await tracking.get(3001)).messageId).toBeUndefined();
    expect(await drafts.send(id)).toEqual({ status: "Ok", trackingId: 3001 });
    expect((await tracking.get(3001)).messageId).toMatch(/^m-/);
  });
});
