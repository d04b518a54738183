import { isHooklineError } from "hookline";
import { describe, expect, test } from "vitest";
import {
  BadRequest,
  clients,
  createClient,
  NotFound,
  NotReady,
  RateLimited,
  TokenExpired,
  Unauthorized,
  type Client,
  type ClientOptions,
  type Paged,
} from "../../src/client.ts";
import type { EmulatedAccount, Emulator, EmulatorOptions } from "../../src/emulator.ts";
import { startEmulator, startReceiver } from "../emulator/support.ts";
import { skippingClock } from "./support.ts";

/** A client of an account of the emulator. */
async function atEmulator(
  options: EmulatorOptions = {},
  more: Partial<ClientOptions> = {},
): Promise<{ readonly emulator: Emulator; readonly account: EmulatedAccount; readonly client: Client }> {
  const emulator = await startEmulator(options);
  const account = await emulator.account({ name: "Ada Byron", email: "ada@example.com" });
  const client = createClient({ baseUrl: emulator.url, token: account.token, rateLimit: false, ...more });
  return { emulator, account, client };
}

async function allOf<T>(list: Paged<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const one of list) all.push(one);
  return all;
}

describe("calendars", () => {
  test("GET /v1/calendars lists all pages", async () => {
    const { client } = await atEmulator({ pageSize: 2 });
    for (const name of ["a", "b", "c"]) await client.calendars.create({ name });
    expect((await allOf(client.calendars.list())).slice(1).map(({ name }) => name)).toEqual(["a", "b", "c"]);
  });

  test("GET /v1/calendars has those that others share where they are wanted", async () => {
    const emulator = await startEmulator();
    const { token } = await emulator.account({ calendars: [{ name: "Theirs", isShared: true }] });
    const client = createClient({ baseUrl: emulator.url, token });
    const named = (list: readonly { readonly name?: string }[]) => list.some(({ name }) => name === "Theirs");
    expect(named(await allOf(client.calendars.list()))).toBe(false);
    expect(named(await allOf(client.calendars.list({ withShared: true })))).toBe(true);
  });

  test.each([200, 201] as const)(
    "POST /v1/calendars, GET and PATCH /v1/calendars/{id}, created with %d",
    async (status) => {
      const { client } = await atEmulator({ variants: { calendarCreatedStatus: status } });
      const { id } = await client.calendars.create({ name: "Team", color: "red" });
      expect(await client.calendars.update(id, { name: "All" })).toMatchObject({ id, name: "All", color: "red" });
      expect(await client.calendars.get(id)).toMatchObject({ id, name: "All", primary: false });
      expect(await client.calendars.get("primary")).toMatchObject({ primary: true });
      await expect(client.calendars.get("none")).rejects.toThrow(NotFound);
    },
  );
});

describe("messages", () => {
  test("GET /v1/email/messages walks what a search finds, newest first", async () => {
    const { account, client } = await atEmulator({ pageSize: 2 });
    for (let nth = 0; nth < 5; nth += 1)
      await account.receiveMail({ subject: `Engine ${nth}`, from: { address: "grace@example.com" } });
    await account.receiveMail({ subject: "Other" });
    const found = await allOf(client.messages.list({ q: "from:grace@example.com", bodyType: "text" }));
    expect(found.map(({ subject }) => subject)).toEqual(["Engine 4", "Engine 3", "Engine 2", "Engine 1", "Engine 0"]);
    expect(found[0]?.from).toEqual({ address: "grace@example.com" });
  });

  test("GET /v1/email/messages/{messageId}, with all of its parameters", async () => {
    const { account, client } = await atEmulator();
    const { id, threadId } = await account.receiveMail({
      subject: "Notes",
      body: "<p>New</p><blockquote>Old</blockquote>",
    });
    const options = { bodyType: "text", stripQuoted: true, loadInlines: true, resolveDraftId: true } as const;
    expect(await client.messages.get(id, { ...options, nativeProperties: [] })).toMatchObject({
      id,
      threadId,
      body: "New",
    });
    await expect(client.messages.get("none")).rejects.toThrow(NotFound);
  });

  test("GET /v1/email/messages/{messageId} waits for a thread id as long as Retry-After says", async () => {
    const { emulator, account } = await atEmulator();
    const { id, threadId } = await account.receiveMail({ threadIdAfterMs: 8_000 });
    const connection = { baseUrl: emulator.url, token: account.token };
    const impatient = createClient({ ...connection, retry: false });
    const error: unknown = await impatient.messages
      .get(id, { requireThreadId: true })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NotReady);
    expect(error).toMatchObject({ retryAfterMs: 8_000 });

    const patient = createClient({ ...connection, clock: emulator.clock });
    const waiting = patient.messages.get(id, { requireThreadId: true });
    let isOver = false;
    void waiting.finally(() => (isOver = true));
    while (!isOver) {
      await new Promise((resolve) => setImmediate(resolve));
      await emulator.advance(100);
    }
    expect(await waiting).toMatchObject({ threadId });
    expect(emulator.clock.now() - Date.parse((await waiting).createdTime ?? "")).toBeGreaterThanOrEqual(8_000);
  });

  test("POST /v1/email/messages sends, with the ids that tracking events have", async () => {
    const { client, emulator } = await atEmulator();
    const grace = await emulator.account({ email: "grace@example.com" });
    const mail = {
      subject: "Hello",
      body: "Hi",
      to: [{ address: "grace@example.com" }],
      tracking: { opens: true, context: "deal-9" },
    };
    const sent = await client.messages.send(mail, { returnIds: true, bodyType: "text" });
    expect(sent).toMatchObject({ processingStatus: "Ok", trackingId: expect.any(Number) as number });
    expect(sent.warning).toBeUndefined();
    expect(await client.messages.get(sent.id ?? "")).toMatchObject({ subject: "Hello", threadId: sent.threadId });
    const theirs = createClient({ baseUrl: emulator.url, token: grace.token });
    expect(await allOf(theirs.messages.list())).toHaveLength(1);

    const incomplete = await client.messages.send({ ...mail, followUp: { ruleId: 1 } });
    expect(incomplete.warning).toBe("The mail was sent; steps that failed afterwards: followUp.");
    const refused = client.messages.send({ subject: "Nobody" });
    await expect(refused).rejects.toThrow(BadRequest);
    await expect(refused).rejects.toMatchObject({ serviceMessage: expect.stringContaining('"to"') as string });
  });

  test("DELETE /v1/email/messages/{messageId} moves to the trash", async () => {
    const { account, client } = await atEmulator();
    const { id } = await account.receiveMail();
    await client.messages.trash(id);
    expect(await allOf(client.messages.list())).toEqual([]);
    const all = await allOf(client.messages.list({ includeTrashAndJunk: true }));
    expect(all).toMatchObject([{ id, sysLabels: expect.arrayContaining(["trash"]) as string[] }]);
  });

  test("GET /v1/email/messages/{messageId}/raw is the text as it was sent", async () => {
    const { account, client } = await atEmulator();
    const { id } = await account.receiveMail({ subject: "Notes – 1", body: "{}" });
    const raw = await client.messages.raw(id);
    expect(raw).toContain("Subject: Notes – 1\r\n");
    expect(raw).toMatch(/\r\n\r\n\{\}\r\n$/);
  });

  test("POST /v1/email/messages/{messageId}/status marks as read and unread", async () => {
    const { account, client } = await atEmulator();
    const { id } = await account.receiveMail();
    for (const unread of [false, true]) {
      await client.messages.setStatus(id, { unread });
      expect((await client.messages.get(id)).sysLabels?.includes("unread")).toBe(unread);
    }
  });

  test("GET /v1/email/conversations/{threadId} and .../followup", async () => {
    const { account, client } = await atEmulator({ pageSize: 1 });
    const { threadId } = await account.receiveMail({ subject: "First" });
    await account.receiveMail({ subject: "Second", threadId });
    const subjects = (await allOf(client.conversations.get(threadId, { bodyType: "text" }))).map(
      ({ subject }) => subject,
    );
    expect(subjects).toEqual(["Second", "First"]);
    const status = await client.conversations.followup(threadId, { skipMailboxCheck: true });
    expect(status.lastSentEmail).toBeUndefined();
    await expect(client.conversations.followup("none")).rejects.toThrow(NotFound);
  });
});

describe("delta sync", () => {
  test("POST /v1/email/sync, GET .../updated and .../deleted walk both ways to their tokens", async () => {
    const { account, client } = await atEmulator({ pageSize: 2 });
    const mails = [];
    for (let nth = 0; nth < 5; nth += 1) mails.push(await account.receiveMail({ subject: `${nth}` }));
    const { sync } = client.messages;
    const started = await sync.start({ daysWithin: 30, bodyType: "text" });
    expect(started.ready).toBe(true);
    const first = await lastTokenOf(sync.updated({ deltaToken: started.syncUpdatedToken }));
    expect(first.ids.toSorted()).toEqual(mails.map(({ id }) => id).toSorted());
    await account.remove("/email/messages", mails[0]?.id ?? "");
    await account.update("/email/messages", mails[1]?.id ?? "", { subject: "new" });
    expect((await lastTokenOf(sync.updated({ deltaToken: first.token }))).ids).toEqual([mails[1]?.id]);
    expect((await lastTokenOf(sync.deleted({ deltaToken: started.syncDeletedToken }))).ids).toEqual([mails[0]?.id]);
  });

  test("POST /v1/calendars/{calendarId}/sync, GET .../updated and .../deleted", async () => {
    const { account, client } = await atEmulator();
    const time = (hour: string) => ({ dateTime: `2026-03-02T${hour}:00:00Z`, timezone: "UTC" });
    const { id } = await account.addEvent({ subject: "Review", start: time("09"), end: time("10") });
    const { sync } = client.calendar("primary");
    const started = await sync.start({ timeMin: "2026-03-01T00:00:00Z", timeMax: "2026-03-08T00:00:00Z" });
    expect((await lastTokenOf(sync.updated({ deltaToken: started.syncUpdatedToken }))).ids).toEqual([id]);
    await account.remove("/calendars/primary/events", id);
    expect((await lastTokenOf(sync.deleted({ deltaToken: started.syncDeletedToken }))).ids).toEqual([id]);
  });

  test("is not ready at first where the service prepares it", async () => {
    const { emulator, client } = await atEmulator({ deltaSync: { readyAfterMs: 5_000 } });
    expect((await client.messages.sync.start({})).ready).toBe(false);
    await emulator.advance(5_000);
    expect((await client.messages.sync.start({})).ready).toBe(true);
  });

  test("ends with TokenExpired when its token is too old", async () => {
    const { emulator, client } = await atEmulator({ deltaSync: { tokenLifeMs: 60_000 } });
    const window = { timeMin: "2026-03-01T00:00:00Z", timeMax: "2026-03-08T00:00:00Z" };
    const mail = await client.messages.sync.start({});
    const events = await client.calendar("primary").sync.start(window);
    await emulator.advance(60_001);
    for (const list of [
      client.messages.sync.updated({ deltaToken: mail.syncUpdatedToken }),
      client.messages.sync.deleted({ deltaToken: mail.syncDeletedToken }),
      client.calendar("primary").sync.updated({ deltaToken: events.syncUpdatedToken }),
      client.calendar("primary").sync.deleted({ deltaToken: events.syncDeletedToken }),
    ])
      await expect(list.page()).rejects.toThrow(TokenExpired);
  });

  async function lastTokenOf(list: Paged<{ readonly id: string }>) {
    const ids: string[] = [];
    let token = "";
    for await (const page of list.pages()) {
      ids.push(...page.records.map(({ id }) => id));
      token = page.nextDeltaToken ?? "";
    }
    expect(token).not.toBe("");
    return { ids, token };
  }
});

describe("subscriptions", () => {
  test("POST, GET and DELETE /v1/subscriptions", async () => {
    const [{ client, emulator }, receiver] = await Promise.all([atEmulator({ pageSize: 2 }), startReceiver()]);
    const made = [];
    for (const resource of ["/email/messages", "/contacts", "/email/tracking"])
      made.push(await client.subscriptions.create({ resource, notificationUrl: receiver.url, detailLevel: "status" }));
    expect(emulator.subscriptions.map(({ id }) => id)).toEqual(made.map(({ id }) => id));
    expect((await allOf(client.subscriptions.list())).map(({ id }) => id)).toEqual(made.map(({ id }) => id));
    const id = made[0]?.id ?? 0;
    expect(await client.subscriptions.get(id)).toMatchObject({ id, active: true, resource: "/email/messages" });
    await client.subscriptions.delete(id);
    await expect(client.subscriptions.get(id)).rejects.toThrow(NotFound);
  });

  test("POST /v1/subscriptions fails where the receiver does not answer the handshake", async () => {
    const { client } = await atEmulator();
    const created = client.subscriptions.create({ resource: "/contacts", notificationUrl: "http://127.0.0.1:1/x" });
    await expect(created).rejects.toMatchObject({ name: "BadRequest", serviceCode: "notificationUrl.notValid" });
  });

  test("GET /v1/subscriptions has those that do not work where they are wanted", async () => {
    const [{ client, account }, receiver] = await Promise.all([atEmulator(), startReceiver()]);
    await client.subscriptions.create({ resource: "/contacts", notificationUrl: receiver.url });
    await account.expireCredentials();
    expect(await allOf(client.subscriptions.list())).toEqual([]);
    const [one] = await allOf(client.subscriptions.list({ includeInactive: true }));
    expect(one).toMatchObject({ active: false, failSince: expect.any(String) as string });
  });
});

describe("an account", () => {
  test("whose token is wrong, or whose mailbox is lost, is Unauthorized", async () => {
    const { emulator, account, client } = await atEmulator();
    const wrong = createClient({ baseUrl: emulator.url, token: "wrong" });
    await expect(wrong.calendars.get("primary")).rejects.toMatchObject({ serviceCode: "unauthorized" });
    await account.expireCredentials();
    const lost = client.calendars.get("primary");
    await expect(lost).rejects.toThrow(Unauthorized);
    await expect(lost).rejects.toMatchObject({ serviceCode: "token.refresh.failed" });
    await account.restoreCredentials();
    expect(await client.calendars.get("primary")).toHaveProperty("id");
  });

  test("that makes too many calls is RateLimited, and says how long to wait", async () => {
    const { client } = await atEmulator({ callsPerSecond: 2 }, { retry: false });
    await client.calendars.get("primary");
    await client.calendars.get("primary");
    const refused = client.calendars.get("primary");
    await expect(refused).rejects.toThrow(RateLimited);
    await expect(refused).rejects.toMatchObject({ retryAfterMs: 1_000 });
  });

  test("has one client, made when it is first asked for", async () => {
    const emulator = await startEmulator();
    const accounts = [await emulator.account(), await emulator.account()];
    const asked: number[] = [];
    const clientOf = clients((accountId) => {
      asked.push(accountId);
      const token = accounts.find((account) => account.accountId === accountId)?.token ?? "";
      return { baseUrl: emulator.url, token, clock: skippingClock() };
    });
    const [a, b] = accounts.map(({ accountId }) => accountId);
    expect(clientOf(a ?? 0)).toBe(clientOf(a ?? 0));
    expect(clientOf(b ?? 0)).not.toBe(clientOf(a ?? 0));
    expect(asked).toEqual([a, b]);
    await accounts[1]?.receiveMail();
    expect(await allOf(clientOf(a ?? 0).messages.list())).toEqual([]);
    expect(await allOf(clientOf(b ?? 0).messages.list())).toHaveLength(1);
    const unknown: unknown = await clientOf(5)
      .messages.get("m-1")
      .catch((error: unknown) => error);
    expect(isHooklineError(unknown, "token-invalid")).toBe(true);
  });
});
