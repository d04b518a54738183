import { describe, expect, test } from "vitest";
import { call, serve, startEmulator, startPair, startReceiver } from "./support.ts";

describe("POST /v1/subscriptions", () => {
  test("asks the receiver with a signed request, and answers with the subscription", async () => {
    const [emulator, receiver] = await Promise.all([startEmulator(), startReceiver()]);
    const { token } = await emulator.account();
    const body = { resource: "/email/messages", notificationUrl: receiver.url };
    const { status, json } = await call(emulator, "POST /v1/subscriptions", { token, body });
    expect(status).toBe(200);
    expect(json).toMatchObject({ id: "1001", ...body, active: true, disabledByBilling: false });
  });

  test("the handshake is a signed POST without a body, its token joined to the URL's own query", async () => {
    const emulator = await startEmulator();
    const asked: string[][] = [];
    const { url } = await serve((request, response) => {
      const { method = "", headers } = request;
      asked.push([method, request.url ?? "", String(headers["content-type"]), String(headers["content-length"])]);
      response.end(new URL(request.url ?? "", "http://localhost").searchParams.get("validationToken"));
    });
    await emulator.subscribe(await emulator.account(), "/contacts", `${url}?tenant=a%20b`);
    expect(asked).toEqual([
      [
        "POST",
        expect.stringMatching(/^\/webhooks\?tenant=a(?:%20|\+)b&validationToken=/),
        "text/plain; charset=utf-8",
        "0",
      ],
    ]);
    expect(decodeURIComponent(asked[0]?.[1] ?? "")).toMatch(
      /validationToken=[\da-f-]{36}_2026-01-02T03:04:05\.000\+00:00$/,
    );
  });

  test.each([
    ["another text", 200, "ok"],
    ["the token as JSON", 200, "json"],
    ["an undecoded token", 200, "raw"],
    ["201", 201, "token"],
    ["a redirect", 302, "token"],
    ["401", 401, ""],
  ])("is 400 with what was answered: %s", async (_, status, answer) => {
    const emulator = await startEmulator();
    const { url } = await serve((request, response) => {
      const raw = request.url?.split("validationToken=")[1] ?? "";
      const token = decodeURIComponent(raw);
      const bodies: Record<string, string> = { json: JSON.stringify({ token }), token, raw };
      response.writeHead(status, { Location: "http://127.0.0.1:1/" }).end(bodies[answer] ?? answer);
    });
    const { token } = await emulator.account();
    const body = { resource: "/email/messages", notificationUrl: url };
    const refused = await call(emulator, "POST /v1/subscriptions", { token, body });
    expect(refused.status).toBe(400);
    expect(refused.json).toMatchObject({
      code: "notificationUrl.notValid",
      message: expect.stringContaining(`was ${status} with the body`) as string,
      requestId: expect.stringMatching(/^[\da-f-]{36}$/) as string,
    });
    expect(emulator.subscriptions).toEqual([]);
  });

  test("waits 30 s for the answer", async () => {
    const emulator = await startEmulator();
    const asked = Promise.withResolvers<void>();
    const { url } = await serve(() => asked.resolve());
    const subscribed = emulator.subscribe(await emulator.account(), "/contacts", url);
    const outcome = expect(subscribed).rejects.toThrow("there was no answer: no answer in 30 s");
    await asked.promise;
    await emulator.advance(29_999);
    await emulator.advance(1);
    await outcome;
  });

  test.each([
    ["/mail", "http://127.0.0.1:3000/", "The resource is"],
    ["/contacts", "webhooks", "expected a URL with http"],
    ["/contacts", "ftp://127.0.0.1/", "expected a URL with http"],
    ["/contacts", "http://user:pass@127.0.0.1/", "without a password"],
    ["/contacts", "http://192.0.2.1/", "no private address"],
    ["/contacts", "https://[2001:db8::1]/", "no private address"],
  ])("is 400 for %s at %s", async (resource, notificationUrl, message) => {
    const emulator = await startEmulator();
    const { token } = await emulator.account();
    const refused = await call(emulator, "POST /v1/subscriptions", { token, body: { resource, notificationUrl } });
    expect(refused).toMatchObject({ status: 400, json: { code: "badRequest" } });
    expect(refused.json["message"]).toContain(message);
  });

  test("names a field that is missing, strange or wrong", async () => {
    const emulator = await startEmulator();
    const { token } = await emulator.account();
    const post = (body: unknown) => call(emulator, "POST /v1/subscriptions", { token, body });
    expect((await post({ resource: "/contacts" })).json["message"]).toContain('"notificationUrl"');
    expect((await post({ resource: 1, notificationUrl: "" })).json["message"]).toContain('"resource"');
    expect((await post({ resource: "", notificationUrl: "", url: "" })).json["message"]).toContain('"url"');
    expect((await post("{")).json["message"]).toContain("no JSON");
  });

  test("wants a bearer token of an account", async () => {
    const emulator = await startEmulator();
    for (const headers of [{}, { Authorization: "Bearer x" }, { Authorization: "Basic x" }] as Record<string, string>[])
      expect(await call(emulator, "GET /v1/subscriptions", { headers })).toMatchObject({
        status: 401,
        json: { code: "unauthorized" },
      });
  });
});

describe("the other calls", () => {
  test("list pages, get, delete; an account sees its own", async () => {
    const { emulator, account, receiver, id } = await startPair();
    const second = await emulator.subscribe(account, "/contacts", receiver.url);
    const { token } = account;
    const stranger = await emulator.account();
    const list = (query: string) => call(emulator, `GET /v1/subscriptions${query}`, { token });
    expect((await list("")).json).toMatchObject({ offset: 0, totalSize: 2, done: true });
    expect((await list("?limit=1")).json).toMatchObject({ done: false, records: [{ id: String(id) }] });
    expect((await list("?limit=1&offset=1")).json).toMatchObject({ done: true, records: [{ id: String(second) }] });
    expect(await list("?limit=0")).toMatchObject({ status: 400 });
    expect(await call(emulator, `GET /v1/subscriptions/${id}`, { token })).toMatchObject({ status: 200 });
    expect(await call(emulator, `GET /v1/subscriptions/${id}`, { token: stranger.token })).toMatchObject({
      status: 404,
    });
    expect(await call(emulator, `DELETE /v1/subscriptions/${id}`, { token })).toMatchObject({ status: 200 });
    expect(await call(emulator, `GET /v1/subscriptions/${id}`, { token })).toMatchObject({ status: 404 });
    await account.receiveMail();
    await emulator.settled();
    expect(emulator.attempts).toBe(0);
  });

  test("an errored subscription is listed with includeInactive, with since when and why", async () => {
    const { emulator, account } = await startPair();
    await account.expireCredentials();
    const list = (query: string) => call(emulator, `GET /v1/subscriptions${query}`, { token: account.token });
    expect((await list("")).json).toMatchObject({ totalSize: 0 });
    expect((await list("?includeInactive=true")).json).toMatchObject({
      records: [{ active: false, failSince: "2026-01-02T03:04:05.000Z", failDescription: "Active token is missing" }],
    });
  });
});

describe("what is announced", () => {
  const bodies = ({ received }: { readonly received: readonly { readonly body: string }[] }) =>
    received.map(({ body }) => JSON.parse(body) as unknown);

  test("each change of a message, with its thread", async () => {
    const { emulator, receiver, account, id } = await startPair();
    const { accountId } = account;
    const mail = await account.receiveMail();
    await emulator.settled();
    await account.update("/email/messages", mail.id, { subject: "Re" });
    await emulator.settled();
    await account.remove("/email/messages", mail.id);
    await emulator.settled();
    const entry = { id: mail.id, attributes: { threadId: mail.threadId } };
    const envelope = { subscription: id, accountId, resource: "/email/messages" };
    const body = (changeType: string) => Object.assign({ payloads: [{ ...entry, changeType }] }, envelope);
    expect(bodies(receiver)).toEqual([body("created"), body("updated"), body("deleted")]);
  });

  test("an event made through the API, on its calendar and on primary", async () => {
    const { emulator, receiver, account } = await startPair({}, "/calendars/primary/events");
    const { token } = account;
    const times = { start: { dateTime: "2026-03-02T09:00:00Z" }, end: { dateTime: "2026-03-02T10:00:00Z" } };
    const body = { subject: "Review", ...times };
    const made = await call(emulator, "POST /v1/calendars/primary/events", { token, body });
    expect(made.status).toBe(201);
    await emulator.settled();
    expect(bodies(receiver)).toMatchObject([
      { resource: "/calendars/primary/events", payloads: [{ id: made.json["id"], changeType: "created" }] },
    ]);
    const path = `/v1/calendars/primary/events/${String(made.json["id"])}`;
    expect(await call(emulator, `GET ${path}`, { token })).toMatchObject({ json: { subject: "Review" } });
    const headers = { "If-Match": String(made.json["etag"]) };
    expect(await call(emulator, `PATCH ${path}`, { token, headers, body: { subject: "Talk" } })).toMatchObject({
      json: { record: { subject: "Talk" } },
    });
    expect(await call(emulator, `DELETE ${path}`, { token })).toMatchObject({ status: 200 });
    expect(await call(emulator, `GET ${path}`, { token })).toMatchObject({ status: 404 });
    expect(await call(emulator, "GET /v1/calendars/none/events/1", { token })).toMatchObject({ status: 404 });
    await emulator.settled();
    expect(receiver.received).toHaveLength(3);
  });

  test("contacts and tasks, each to who watches them", async () => {
    const { emulator, receiver, account } = await startPair({}, "/contacts");
    await emulator.subscribe(account, "/tasklists/default/tasks", receiver.url);
    const contact = await account.addContact();
    const task = await account.addTask();
    await emulator.settled();
    const got = bodies(receiver) as { readonly resource: string; readonly payloads: unknown }[];
    expect(got.toSorted((a, b) => a.resource.localeCompare(b.resource))).toMatchObject([
      { resource: "/contacts", payloads: [{ id: contact.id, changeType: "created" }] },
      { resource: "/tasklists/default/tasks", payloads: [{ id: task.id, changeType: "created" }] },
    ]);
    const { token } = account;
    expect(await call(emulator, `GET /v1/contacts/${contact.id}`, { token })).toMatchObject({ status: 200 });
    expect(await call(emulator, `GET /v1/tasklists/default/tasks/${task.id}`, { token })).toMatchObject({
      status: 200,
    });
    await expect(account.update("/contacts", "none")).rejects.toMatchObject({ code: "record-not-found" });
    await expect(account.remove("/notes", "none")).rejects.toMatchObject({ code: "resource-invalid" });
  });

  test("no draft with the filter withoutDrafts, and only that something changed with detailLevel signal", async () => {
    const { emulator, receiver, account } = await startPair();
    await call(emulator, "DELETE /v1/subscriptions/1001", { token: account.token });
    const wanted = { resource: "/email/messages", notificationUrl: receiver.url };
    const post = (body: object) => call(emulator, "POST /v1/subscriptions", { token: account.token, body });
    expect((await post({ ...wanted, filters: ["withoutDrafts"] })).json).toMatchObject({ filters: ["withoutDrafts"] });
    await account.receiveMail({ sysLabels: ["draft"] });
    await emulator.settled();
    expect(receiver.received).toEqual([]);
    await account.receiveMail();
    await emulator.settled();
    expect(receiver.received.splice(0)).toHaveLength(1);
    await call(emulator, "DELETE /v1/subscriptions/1002", { token: account.token });
    expect((await post({ ...wanted, detailLevel: "signal" })).json).toMatchObject({ detailLevel: "signal" });
    await account.receiveMail();
    await emulator.settled();
    expect(bodies(receiver)).toEqual([{ subscription: 1003, accountId: 2001, resource: "/email/messages" }]);
  });

  test("nothing while the service has no access, but its loss and its return", async () => {
    const { emulator, receiver, account, id } = await startPair();
    await account.expireCredentials();
    await account.receiveMail();
    await account.restoreCredentials();
    await emulator.settled();
    const envelope = { subscription: id, accountId: 2001, resource: "/email/messages" };
    expect(bodies(receiver)).toEqual([
      { ...envelope, lifecycleEvent: "error", error: "Active token is missing" },
      { ...envelope, lifecycleEvent: "active" },
    ]);
    await account.expireCredentials();
    expect(await call(emulator, "GET /v1/contacts/1", { token: account.token })).toMatchObject({
      status: 401,
      json: { code: "token.refresh.failed" },
    });
  });
});
