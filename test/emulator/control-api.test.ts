import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { call, startEmulator, startPair } from "./support.ts";

describe("POST /emulator/...", () => {
  test("does from any language what the library does", async () => {
    const { emulator, receiver } = await startPair();
    const post = async (path: string, body: unknown = {}) => {
      const { status, json } = await call(emulator, `POST /emulator/${path}`, { body });
      expect(status, JSON.stringify(json)).toBe(200);
      return json;
    };
    const { accountId, token } = await post("accounts", { name: "Lin", email: "lin@example.com" });
    expect(token).toMatch(/^token_/);
    const wanted = { accountId, resource: "/contacts", notificationUrl: receiver.url };
    const { id } = await post("subscriptions", wanted);
    await post(`accounts/${String(accountId)}/mail`, { subject: "Hi" });
    const created = await post(`accounts/${String(accountId)}/changes`, {
      resource: "/contacts",
      changeType: "created",
    });
    const change = { resource: "/contacts", id: created["id"] };
    await post(`accounts/${String(accountId)}/changes`, { ...change, changeType: "updated", fields: { note: "x" } });
    await post(`accounts/${String(accountId)}/changes`, { ...change, changeType: "deleted" });
    await post("settled");
    const entry = (changeType: string) => ({ subscription: id, payloads: [{ id: created["id"], changeType }] });
    expect(receiver.received.map(({ body }) => JSON.parse(body) as unknown)).toMatchObject(
      ["created", "updated", "deleted"].map(entry),
    );
    await post(`accounts/${String(accountId)}/credentials`, { valid: false });
    await post(`accounts/${String(accountId)}/credentials`, { valid: true });
    await post(`accounts/${String(accountId)}/billing`, { paid: false });
    await post(`accounts/${String(accountId)}/billing`, { paid: true });
    await post(`subscriptions/${String(id)}/emit`, { payloads: [{ id: "c-1", changeType: "updated" }] });
    await post(`subscriptions/${String(id)}/emit`);
    await post(`subscriptions/${String(id)}/fault`, { fault: "lose-answer" });
    await post(`subscriptions/${String(id)}/fault`, { fault: [null, { delayMs: 5 }] });
    await post(`subscriptions/${String(id)}/fault`, { fault: null });
    expect(await post("clock/advance", { ms: 1_000 })).toEqual({ now: "2026-01-02T03:04:06.000Z" });
    const state = await call(emulator, "GET /emulator/state");
    expect(state.json).toMatchObject({
      now: "2026-01-02T03:04:06.000Z",
      isVirtual: true,
      attempts: 7,
      accounts: [{}, { accountId, name: "Lin", email: "lin@example.com", token, hasAccess: true }],
      subscriptions: [{}, { id, resource: "/contacts", active: true, waiting: 0 }],
    });
    const journal = await call(emulator, `GET /emulator/journal?subscription=${String(id)}&limit=2`);
    expect(journal.json).toMatchObject({
      total: 7,
      attempts: [{ subscription: id }, { subscription: id, status: 200 }],
    });
    await post("reset");
    expect((await call(emulator, "GET /emulator/state")).json).toMatchObject({ accounts: [], subscriptions: [] });
  });

  test.each([
    ["POST /emulator/accounts", { age: 7 }, 400, '"age"'],
    ["POST /emulator/accounts", "[", 400, "no JSON"],
    ["POST /emulator/accounts/7/mail", {}, 404, "There is no account 7. There are: 2001."],
    ["POST /emulator/accounts/2001/changes", { resource: "/contacts", changeType: "moved" }, 400, '"changeType"'],
    ["POST /emulator/accounts/2001/changes", { resource: "/contacts", changeType: "deleted" }, 400, '"id" is missing'],
    [
      "POST /emulator/accounts/2001/changes",
      { resource: "/contacts", changeType: "deleted", id: "x" },
      404,
      "record x",
    ],
    ["POST /emulator/accounts/2001/changes", { resource: "/x", changeType: "created" }, 400, '"/x"'],
    ["POST /emulator/accounts/2001/credentials", { valid: 1 }, 400, '"valid"'],
    ["POST /emulator/subscriptions", { accountId: 2001, resource: "/contacts" }, 400, '"notificationUrl"'],
    ["POST /emulator/subscriptions/9/emit", {}, 404, "There is no subscription 9"],
    ["POST /emulator/subscriptions/1001/fault", { fault: "loud" }, 400, "which is no fault"],
    ["POST /emulator/clock/advance", { ms: "1" }, 400, '"ms"'],
    ["POST /emulator/clock/back", {}, 404, "/emulator/clock/back"],
    ["POST /emulator/state", {}, 405, "expected GET"],
    ["GET /emulator/journal?limit=0", undefined, 400, '"limit"'],
    ["GET /emulator/journal?since=1", undefined, 400, '"since"'],
  ] as const)("%s of %j: %d", async (line, body, status, message) => {
    const { emulator } = await startPair();
    const got = await call(emulator, line, body === undefined ? {} : { body });
    expect(got).toMatchObject({ status, json: { message: expect.stringContaining(message) as string } });
    if (status === 405) expect(got.headers.get("allow")).toBe("GET");
  });

  test("GET /emulator/live sends each attempt as it ends", async () => {
    const { emulator, account } = await startPair();
    const response = await fetch(`${emulator.url}/emulator/live`);
    const reader = (response.body ?? new ReadableStream<Uint8Array>()).pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const until = async (what: string): Promise<void> => {
      while (!text.includes(what)) text += (await reader.read()).value ?? "";
    };
    await until("event: open");
    await account.receiveMail();
    await until('"outcome":"acknowledged"');
    expect(text).toContain("event: attempt");
    await reader.cancel();
  });
});

describe("who may ask", () => {
  const ask = (url: string, headers: Record<string, string>, path = "/emulator/state"): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      request(url + path, { method: path.includes("state") ? "GET" : "POST", headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end();
    });

  test("names of this machine, and the emulator's own page", async () => {
    const { url } = await startEmulator();
    const { port } = new URL(url);
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`]) {
      expect(await ask(url, { Host: host })).toBe(200);
      expect(await ask(url, { Host: host, Origin: `http://${host}` })).toBe(200);
    }
  });

  test("no other name, which DNS may lead here, no other page, and no form", async () => {
    const { url } = await startEmulator();
    const { host } = new URL(url);
    expect(await ask(url, { Host: "emulator.example.com" })).toBe(403);
    expect(await ask(url, { Host: host, Origin: "https://example.com" })).toBe(403);
    expect(await ask(url, { Host: host, Origin: "null" })).toBe(403);
    expect(await ask(url, { Host: host, Origin: "https://example.com" }, "/emulator/reset")).toBe(403);
    expect(await ask(url, { Host: host, "Content-Type": "text/plain" }, "/emulator/reset")).toBe(415);
    expect(await ask(url, { Host: host, Origin: "https://example.com" }, "/")).toBe(403);
  });
});

test("a name that leads to a public address is not sent to", async () => {
  const emulator = await startEmulator({ clock: "real" });
  const account = await emulator.account();
  // RFC 6761: `localhost` leads to this machine, and `invalid` nowhere.
  await expect(emulator.subscribe(account, "/contacts", "http://localhost:1/")).rejects.toThrow(/ECONNREFUSED/);
  await expect(emulator.subscribe(account, "/contacts", "http://hookline.invalid/")).rejects.toThrow(/no answer: /);
});
