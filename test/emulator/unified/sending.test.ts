import { describe, expect, test } from "vitest";
import type { EmulatorOptions } from "../../../src/emulator.ts";
import { call, startEmulator, startReceiver } from "../support.ts";

const TO = [{ address: "ada@example.com" }];

async function startSender(options: EmulatorOptions = {}) {
  const [emulator, receiver] = await Promise.all([startEmulator(options), startReceiver()]);
  const account = await emulator.account({ email: "grace@example.com" });
  await emulator.subscribe(account, "/email/tracking", receiver.url);
  const ask = (line: string, body?: unknown) =>
    call(emulator, line, { token: account.token, ...(body !== undefined && { body }) });
  const send = async (mail: object = {}, query = "?returnIds=true") =>
    (await ask(`POST /v1/email/messages${query}`, { subject: "Offer", body: "<p>Hi</p>", to: TO, ...mail })).json;
  const tracked = async () => {
    await emulator.settled();
    return receiver.received.flatMap(
      ({ body }) => (JSON.parse(body) as { payloads?: readonly Record<string, unknown>[] }).payloads ?? [],
    );
  };
  return { emulator, account, ask, send, tracked };
}

describe("POST /v1/email/messages", () => {
  test("sends: the message is in the mailbox as sent, and the ids are told if they are asked for", async () => {
    const { ask, send } = await startSender();
    const answer = await ask("POST /v1/email/messages", { subject: "Offer", to: TO });
    expect(answer).toMatchObject({ status: 201, json: { status: "Ok", processingStatus: "Ok" } });
    expect(answer.json).not.toHaveProperty("id");
    const { id, threadId, submittedMessageId } = await send({ cc: [{ address: "b@example.com", name: "Bo" }] });
    expect((await ask(`GET /v1/email/messages/${String(id)}`)).json).toMatchObject({
      threadId,
      internetMessageId: submittedMessageId,
      subject: "Offer",
      from: { address: "grace@example.com" },
      cc: [{ address: "b@example.com", name: "Bo" }],
      sysLabels: ["sent"],
      body: "<p>Hi</p>",
    });
    const text = await send({ body: "1 < 2\n& so" }, "?returnIds=true&bodyType=text");
    const { json } = await ask(`GET /v1/email/messages/${String(text["id"])}`);
    expect(json).toMatchObject({ body: "<p>1 &lt; 2<br>&amp; so</p>", bodySnippet: "1 < 2\n& so" });
  });

  test("reaches addressees that are accounts of the emulator, without the hidden ones, in the conversation that it answers", async () => {
    const { emulator, send, ask } = await startSender();
    const other = await emulator.account({ email: "Ada@Example.com" });
    const { submittedMessageId, threadId } = await send({ bcc: [{ address: "hidden@example.com" }] });
    const asOther = async (line: string, body?: unknown) => call(emulator, line, { token: other.token, body });
    const { json } = await call(emulator, "GET /v1/email/messages", { token: other.token });
    const [arrived] = json["records"] as readonly Record<string, unknown>[];
    expect(arrived).toMatchObject({ subject: "Offer", sysLabels: ["inbox", "unread"] });
    expect(JSON.stringify(arrived)).not.toContain("hidden");
    await asOther("POST /v1/email/messages", { to: [{ address: "grace@example.com" }], inReplyTo: submittedMessageId });
    const conversation = await ask(`GET /v1/email/conversations/${String(threadId)}`);
    expect(conversation.json["records"]).toMatchObject([{ inReplyTo: submittedMessageId }, { sysLabels: ["sent"] }]);
  });

  test("is Incomplete where the mail went out and a follow-up could not begin", async () => {
    const { send } = await startSender();
    expect(await send({ followUp: { ruleId: 3 } })).toMatchObject({
      status: "Ok",
      processingStatus: "Incomplete",
      processingError: { failedSteps: ["followUp"] },
    });
  });

  test("names what is wrong", async () => {
    const { ask } = await startSender();
    const message = async (mail: object, query = "") =>
      (await ask(`POST /v1/email/messages${query}`, mail)).json["message"];
    expect(await message({ subject: "Offer" })).toContain('"to"');
    expect(await message({ to: [{ name: "Ada" }] })).toContain('"to.0.address"');
    expect(await message({ to: TO, subject: 7 })).toContain('"subject"');
    expect(await message({ to: TO, tracking: { opens: "yes" } })).toContain('"tracking.opens"');
    expect(await message({ to: TO }, "?returnIds=1")).toContain('"returnIds"');
  });
});

describe("a message that was sent with tracking", () => {
  test("causes initial once, and open each time that an addressee opens it", async () => {
    const { emulator, send, tracked } = await startSender();
    const { id, trackingId, threadId } = await send({ tracking: { opens: true, context: "deal-9" } });
    await emulator.open({ id: String(id) }, { userAgent: "curl" });
    await emulator.open({ id: String(id) });
    const common = {
      trackingId: Number(trackingId),
      context: "deal-9",
      trackingCode: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    };
    expect(await tracked()).toMatchObject([
      { ...common, id: 1, eventType: "initial", messageId: id, threadId },
      { ...common, id: 2, eventType: "open", userAgent: "curl", openNumber: 1 },
      { ...common, id: 3, eventType: "open", openNumber: 2 },
    ]);
    await expect(emulator.open({ id: "none" })).rejects.toThrow(/No account has sent a message "none"/);
  });

  test("is opened by whoever loads its picture, but not in the first seconds", async () => {
    const { emulator, send, tracked } = await startSender();
    const ada = await emulator.account({ email: "ada@example.com" });
    await send({ tracking: { opens: true, trackOpensAfterSendDelay: 10 } });
    const { json } = await call(emulator, "GET /v1/email/messages", { token: ada.token });
    const [{ body = "" } = {}] = json["records"] as readonly { readonly body?: string }[];
    const picture = /<img src="([^"]+)">/.exec(body)?.[1] ?? "";
    const load = async () => (await fetch(picture)).headers.get("content-type");
    expect(await load()).toBe("image/gif");
    await emulator.advance(10_000);
    await load();
    expect((await tracked()).map(({ eventType }) => eventType)).toEqual(["initial", "open"]);
    expect((await fetch(`${emulator.url}/open/none`)).status).toBe(404);
  });

  test("causes reply and replyBounce, if replies are tracked", async () => {
    const { account, send, tracked } = await startSender();
    const { threadId, submittedMessageId } = await send({ tracking: { threadReplies: true } });
    await send({ tracking: { opens: true } });
    const reply = await account.receiveMail({ inReplyTo: submittedMessageId });
    expect(reply.threadId).toBe(threadId);
    await account.receiveMail({ threadId, from: { address: "MAILER-DAEMON@example.com" } });
    await account.receiveMail();
    const events = (await tracked()).filter(({ eventType }) => eventType !== "initial");
    expect(events).toMatchObject([
      { eventType: "reply", threadId, messageId: reply.id },
      { eventType: "replyBounce", threadId },
    ]);
  });

  test("is told to nobody while the account is errored", async () => {
    const { emulator, account, send, tracked } = await startSender();
    const { id } = await send({ tracking: { opens: true } });
    await account.expireCredentials();
    await emulator.open({ id: String(id) });
    expect((await tracked()).map(({ eventType }) => eventType)).toEqual(["initial"]);
  });
});
