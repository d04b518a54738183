import { describe, expect, test } from "vitest";
import type { EmulatorOptions } from "../../../src/emulator.ts";
import { call, startEmulator, startReceiver } from "../support.ts";

async function startMailbox(options: EmulatorOptions = {}) {
  const emulator = await startEmulator(options);
  const account = await emulator.account();
  const ask = (line: string, body?: unknown) =>
    call(emulator, line, { token: account.token, ...(body !== undefined && { body }) });
  const ids = async (query: string) => {
    const { json } = await ask(`GET /v1/email/messages${query}`);
    return (json["records"] as readonly { readonly id: string }[]).map(({ id }) => id);
  };
  return { emulator, account, ask, ids };
}

describe("GET /v1/email/messages", () => {
  test("lists the newest first, with bodies, and pages to the end with changes in between", async () => {
    const { account, ask } = await startMailbox({ pageSize: 2 });
    const made: string[] = [];
    for (const subject of ["a", "b", "c", "d", "e"])
      made.unshift((await account.receiveMail({ subject, body: `<p>${subject}</p>` })).id);
    const seen: string[] = [];
    let query = "?bodyType=text";
    for (;;) {
      const { json } = await ask(`GET /v1/email/messages${query}`);
      const records = json["records"] as readonly {
        readonly id: string;
        readonly body: string;
        readonly omitted: unknown;
      }[];
      seen.push(...records.map(({ id }) => id));
      expect(records[0]).toMatchObject({ body: expect.stringMatching(/^[a-e]$/) as string, omitted: [] });
      if (seen.length === 2) {
        await account.receiveMail();
        await account.remove("/email/messages", made[2] ?? "");
      }
      if (json["nextPageToken"] === undefined) break;
      query = `?bodyType=text&pageToken=${json["nextPageToken"] as string}`;
    }
    expect(seen).toEqual(made.filter((_, index) => index !== 2));
  });

  test("searches by words, sender, addressee, subject and date", async () => {
    const { emulator, account, ids } = await startMailbox();
    const early = (
      await account.receiveMail({ subject: "Lunch", from: { address: "bob@example.com" }, body: "at noon" })
    ).id;
    await emulator.advance(2 * 86_400_000);
    const late = (
      await account.receiveMail({
        subject: "Quarterly report",
        from: { name: "Eve", address: "eve@example.com" },
        body: "",
      })
    ).id;
    const found: Readonly<Record<string, readonly string[]>> = {
      "from:bob": [early],
      "from:Eve report": [late],
      "subject:lunch": [early],
      '"quarterly report"': [late],
      noon: [early],
      "to:user2001": [late, early],
      "after:2026-01-03": [late],
      "before:2026/01/03": [early],
      "after:2026-01-01 before:2026-01-02": [],
      "after:soon": [],
      "label:lunch": [],
    };
    for (const [q, expected] of Object.entries(found))
      expect(await ids(`?q=${encodeURIComponent(q)}`), q).toEqual(expected);
  });

  test("shows a preview of the body, and says so, where the kind of account has no more", async () => {
    const { emulator } = await startMailbox();
    const account = await emulator.account({ hasBodiesInLists: false, mail: [{ body: "<p>Hi</p>" }] });
    const list = await call(emulator, "GET /v1/email/messages", { token: account.token });
    const [message] = list.json["records"] as readonly Record<string, unknown>[];
    expect(message).toMatchObject({ bodySnippet: "Hi", omitted: ["body"] });
    expect(message).not.toHaveProperty("body");
    const whole = await call(emulator, `GET /v1/email/messages/${String(message?.["id"])}`, { token: account.token });
    expect(whole.json).toMatchObject({ body: "<p>Hi</p>", omitted: [] });
  });

  test("leaves trash and junk out, unless they are asked for", async () => {
    const { account, ids } = await startMailbox();
    const junk = (await account.receiveMail({ sysLabels: ["junk"] })).id;
    const { id } = await account.receiveMail();
    expect(await ids("")).toEqual([id]);
    expect(await ids("?includeTrashAndJunk=true")).toEqual([id, junk]);
  });

  test("names what is wrong", async () => {
    const { emulator, ask } = await startMailbox();
    expect((await ask("GET /v1/email/messages?bodyType=pdf")).json["message"]).toContain('"bodyType"');
    expect(await ask("GET /v1/email/messages?pageToken=x")).toMatchObject({
      status: 400,
      json: { code: "token.notValid" },
    });
    expect(await call(emulator, "GET /v1/email/messages")).toMatchObject({ status: 401 });
  });
});

describe("GET /v1/email/messages/{messageId}", () => {
  test("has the body as html or text, with or without what it quotes", async () => {
    const { account, ask } = await startMailbox();
    const body = "<p>Yes &amp; no<br>Bye</p><blockquote>You wrote</blockquote>";
    const { id, threadId } = await account.receiveMail({ body });
    const get = async (query = "") => (await ask(`GET /v1/email/messages/${id}${query}`)).json;
    expect(await get()).toMatchObject({ id, threadId, body, omitted: [] });
    expect(await get("?bodyType=text&stripQuoted=true")).toMatchObject({
      body: "Yes & no\nBye",
      bodySnippet: "Yes & no\nBye\nYou wrote",
    });
    expect(await get("?stripQuoted=")).toMatchObject({ body });
    expect(await ask("GET /v1/email/messages/none")).toMatchObject({ status: 404, json: { code: "not_found" } });
    expect(await ask(`GET /v1/email/messages/${id}?loadInlines=2`)).toMatchObject({ status: 400 });
  });

  test("is 408 with Retry-After while its thread is required and not known, then success", async () => {
    const { emulator, account, ask } = await startMailbox();
    const { id, threadId } = await account.receiveMail({ threadIdAfterMs: 4_500 });
    const get = (query: string) => ask(`GET /v1/email/messages/${id}${query}`);
    const early = await get("?requireThreadId=true");
    expect(early).toMatchObject({ status: 408 });
    expect(early.headers.get("retry-after")).toBe("5");
    expect((await get("")).json).toMatchObject({ omitted: ["threadId"] });
    expect((await get("")).json).not.toHaveProperty("threadId");
    await emulator.advance(5_000);
    expect(await get("?requireThreadId=true")).toMatchObject({ status: 200, json: { threadId, omitted: [] } });
  });

  test("has what is in inline attachments where that is asked for", async () => {
    const { account, ask } = await startMailbox();
    const picture = { id: "a-1", name: "logo.png", inline: true, contentId: "logo" };
    const file = { id: "a-2", name: "offer.pdf", inline: false };
    const withContent = [
      { ...picture, content: "AAAA" },
      { ...file, content: "BBBB" },
    ];
    const { id } = await account.receiveMail({ attachments: withContent });
    const get = async (query = "") => (await ask(`GET /v1/email/messages/${id}${query}`)).json;
    expect(await get()).toMatchObject({ hasAttachments: true });
    expect((await get())["attachments"]).toMatchObject([picture, file]);
    expect((await get("?loadInlines=true"))["attachments"]).toMatchObject([withContent[0], file]);
  });

  test("has the id of a draft where that is asked for", async () => {
    const { account, ask } = await startMailbox();
    const { id } = await account.receiveMail({ sysLabels: ["draft"] });
    expect((await ask(`GET /v1/email/messages/${id}?resolveDraftId=true`)).json).toMatchObject({
      draftId: `draft-${id}`,
    });
    expect((await ask(`GET /v1/email/messages/${id}`)).json).not.toHaveProperty("draftId");
  });
});

test("DELETE /v1/email/messages/{messageId} moves it to the trash, and that is a change of it", async () => {
  const { emulator, account, ask, ids } = await startMailbox();
  const receiver = await startReceiver();
  const { id } = await account.receiveMail();
  await emulator.subscribe(account, "/email/messages", receiver.url);
  expect(await ask(`DELETE /v1/email/messages/${id}`)).toMatchObject({ status: 200, json: { status: "Ok" } });
  expect((await ask(`GET /v1/email/messages/${id}`)).json).toMatchObject({ sysLabels: ["unread", "trash"] });
  expect(await ids("")).toEqual([]);
  await emulator.settled();
  expect(JSON.parse(receiver.received[0]?.body ?? "")).toMatchObject({ payloads: [{ id, changeType: "updated" }] });
  expect(await ask("DELETE /v1/email/messages/none")).toMatchObject({ status: 404 });
});

test("GET /v1/email/messages/{messageId}/raw", async () => {
  const { emulator, account } = await startMailbox();
  const { id } = await account.receiveMail({
    subject: "Hi\r\nBcc: x@example.com",
    internetMessageId: "<1@example.com>",
    body: "<p>Hi</p>",
  });
  const response = await fetch(`${emulator.url}/v1/email/messages/${id}/raw`, {
    headers: { Authorization: `Bearer ${account.token}` },
  });
  expect(response.headers.get("content-type")).toMatch(/^text\/plain/);
  const [head = "", body] = (await response.text()).split("\r\n\r\n");
  expect(head.split("\r\n")).toEqual([
    "From: Ada Byron <ada@example.com>",
    "To: Grace Hopper <user2001@example.com>",
    "Subject: Hi Bcc: x@example.com",
    "Date: Fri, 02 Jan 2026 03:04:05 +0000",
    "Message-ID: <1@example.com>",
    "MIME-Version: 1.0",
    "Content-Type: text/html; charset=utf-8",
  ]);
  expect(body).toBe("<p>Hi</p>\r\n");
});

test("POST /v1/email/messages/{messageId}/status", async () => {
  const { account, ask } = await startMailbox();
  const { id } = await account.receiveMail();
  const labels = async () => (await ask(`GET /v1/email/messages/${id}`)).json["sysLabels"];
  const set = (body: unknown) => ask(`POST /v1/email/messages/${id}/status`, body);
  expect(await set({ unread: false })).toMatchObject({ status: 200, json: { status: "Ok" } });
  expect(await labels()).toEqual(["inbox"]);
  await set({ unread: true });
  expect(await labels()).toEqual(["inbox", "unread"]);
  expect((await set({ unread: "no" })).json["message"]).toContain('"unread"');
});

test("GET /v1/email/conversations/{threadId}, and its follow-up", async () => {
  const { account, ask } = await startMailbox({ pageSize: 1 });
  const first = await account.receiveMail({ subject: "Offer", sysLabels: ["sent"] });
  const reply = await account.receiveMail({ subject: "Re: Offer", threadId: first.threadId });
  await account.receiveMail();
  const path = `/v1/email/conversations/${first.threadId}`;
  const page = await ask(`GET ${path}`);
  expect(page.json).toMatchObject({ length: 1, records: [{ id: reply.id }] });
  const next = await ask(`GET ${path}?pageToken=${String(page.json["nextPageToken"])}`);
  expect(next.json).toMatchObject({ records: [{ id: first.id }] });
  expect(next.json).not.toHaveProperty("nextPageToken");
  const none = { followup: null, mailboxError: null, followupError: null };
  expect((await ask(`GET ${path}/followup`)).json).toMatchObject({ lastSentEmail: { id: first.id }, ...none });
  const past = await ask(`GET ${path}x/followup?skipMailboxCheck=true`);
  expect(past).toMatchObject({ status: 200, json: { lastSentEmail: null, ...none } });
  for (const line of [`GET ${path}x`, `GET ${path}x/followup`]) expect(await ask(line)).toMatchObject({ status: 404 });
  expect((await ask(`GET ${path}/followup?skipMailboxCheck=1`)).json["message"]).toContain('"skipMailboxCheck"');
});
