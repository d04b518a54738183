import { describe, expect, test } from "vitest";
import { signUpOf } from "./sign-up.ts";
import type { Emulator, EmulatorOptions } from "../../../src/emulator.ts";
import { startEmulator } from "../support.ts";

interface Reply {
  readonly status: number;
  readonly json: Record<string, unknown> & readonly Record<string, unknown>[];
}

async function ask(
  emulator: Emulator,
  line: string,
  { token, body }: { token?: string; body?: unknown } = {},
): Promise<Reply> {
  const [method = "", path = ""] = line.split(" ");
  const response = await fetch(emulator.syncConfigUrl + path, {
    method,
    headers: {
      ...(token !== undefined && { Authorization: `Basic ${Buffer.from(`${token}:X`).toString("base64")}` }),
      ...(body !== undefined && { "Content-Type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: (await response.json()) as Reply["json"] };
}

/** A signed-up user, and calls with its token. */
async function startUser(options: EmulatorOptions = {}, fields: object = {}) {
  const emulator = await startEmulator(options);
  const { json } = await ask(emulator, "POST /signup", { body: signUpOf(emulator, fields) });
  const token = String(json["accessToken"]);
  const call = (line: string, body?: unknown): Promise<Reply> =>
    ask(emulator, line, { token, ...(body !== undefined && { body }) });
  return { emulator, token, call };
}

const refusal = (text: string) => ({ message: expect.stringContaining(text) as string });

describe("POST /signup", () => {
  test("gives a token, and the same user again with another one", async () => {
    const { emulator, token, call } = await startUser();
    const again = await ask(emulator, "POST /signup", { body: signUpOf(emulator, { lastName: "Lovelace" }) });
    expect(again.status).toBe(200);
    expect(again.json["accessToken"]).not.toBe(token);
    expect((await call("GET /me")).json).toMatchObject({ lastName: "Lovelace" });
  });

  // Made with openssl: printf 'org-1:user-7:1767323045000' | openssl dgst -sha256 -hmac app-secret -binary | base64
  test.each([
    ["ids", "kL5KxWmv885hK050V1l5M69wTAEyWm277c2MkcsNTz4="],
    ["literal", "kEUnXEke4eooA4pKM145ybdJdgTEIbm3K6CbuJgZCZk="],
  ] as const)("takes the signature over %s", async (signedText, apiHash) => {
    const emulator = await startEmulator({ syncConfig: { appSecret: "app-secret", signedText } });
    const body = { ...signUpOf(emulator), apiHash };
    expect(await ask(emulator, "POST /signup", { body })).toMatchObject({ status: 200 });
    const other = signUpOf(emulator, {}, signedText === "ids");
    expect(await ask(emulator, "POST /signup", { body: other })).toMatchObject({
      status: 401,
      json: refusal("apiHash is wrong"),
    });
  });

  test("is 401 for another application, and 400 with the field that is wrong", async () => {
    const emulator = await startEmulator();
    const body = signUpOf(emulator);
    const post = (fields: object) => ask(emulator, "POST /signup", { body: { ...body, ...fields } });
    expect(await post({ appId: "other" })).toMatchObject({ status: 401, json: refusal('"other" is not known') });
    expect(await post({ admin: "yes" })).toMatchObject({ status: 400, json: refusal('"admin"') });
    expect(await post({ requestTimestamp: "now" })).toMatchObject({ status: 400, json: refusal('"requestTimestamp"') });
    expect(await post({ instanceUrl: undefined })).toMatchObject({ status: 400, json: refusal('"instanceUrl"') });
  });
});

test("every other call is 401 without a token, with a wrong one, and after tokens have ended", async () => {
  const { emulator, token } = await startUser();
  for (const wrong of [undefined, "v2_none"])
    expect(await ask(emulator, "GET /me", wrong === undefined ? {} : { token: wrong })).toMatchObject({ status: 401 });
  const basic = Buffer.from(`${token}:Y`).toString("base64");
  expect((await fetch(`${emulator.syncConfigUrl}/me`, { headers: { Authorization: `Basic ${basic}` } })).status).toBe(
    401,
  );
  await fetch(`${emulator.url}/emulator/sync/expire-tokens`, { method: "POST" });
  expect(await ask(emulator, "GET /me", { token })).toMatchObject({ status: 401, json: refusal("Sign up again") });
  const { json } = await ask(emulator, "POST /signup", { body: signUpOf(emulator) });
  expect(await ask(emulator, "GET /me", { token: String(json["accessToken"]) })).toMatchObject({ status: 200 });
});

test("GET /me", async () => {
  const { call } = await startUser();
  expect(await call("GET /me")).toMatchObject({
    status: 200,
    json: {
      uid: expect.any(Number) as number,
      name: "Ada Byron",
      extId: "user-7",
      admin: true,
      disabled: false,
      templCount: 0,
    },
  });
});

describe("GET and POST /services", () => {
  test("a new one is to be authorised at its page, and then it is", async () => {
    const { call } = await startUser();
    const made = await call("POST /services", {
      type: "mailbox",
      email: "ada@example.com",
      scanEmail: true,
      custom: 1,
      id: 1,
    });
    expect(made.json).toMatchObject({
      type: "mailbox",
      scanEmail: true,
      importTasks: false,
      custom: 1,
      templId: null,
      templLocked: false,
    });
    expect(made.json["id"]).not.toBe(1);
    expect(made.json["authError"]).toContain("not authorised");
    const page = await fetch(String(made.json["authRedirectUrl"]));
    expect(await page.text()).toContain("mailbox is authorised");
    expect((await call("GET /services")).json).toMatchObject([
      { id: made.json["id"], authRedirectUrl: null, authError: null },
    ]);
  });

  test("names a field that is wrong, and another page is 404", async () => {
    const { call, emulator } = await startUser();
    expect(await call("POST /services", {})).toMatchObject({ status: 400, json: refusal('"type"') });
    expect(await call("POST /services", { type: "mailbox", offline: 1 })).toMatchObject({
      status: 400,
      json: refusal('"offline"'),
    });
    expect((await fetch(`${emulator.url}/authorize/none`)).status).toBe(404);
  });
});

describe("GET /services/{id}, and the update at the same path", () => {
  test.each(["PUT", "POST"])("%s changes what is given, and nothing else", async (method) => {
    const { call } = await startUser();
    const { id } = (await call("POST /services", { type: "mailbox", displayName: "Work", scanEmail: true })).json;
    const updated = await call(`${method} /services/${String(id)}`, { displayName: "Home", authRedirectUrl: null });
    expect(updated.json).toMatchObject({ id, displayName: "Home", scanEmail: true });
    expect(updated.json["authRedirectUrl"]).not.toBeNull();
    expect((await call(`GET /services/${String(id)}`)).json).toEqual(updated.json);
  });

  test("is 404 for none, and for another user's", async () => {
    const { call, emulator } = await startUser();
    const { id } = (await call("POST /services", { type: "mailbox" })).json;
    const { json } = await ask(emulator, "POST /signup", { body: signUpOf(emulator, { userExtId: "user-8" }) });
    for (const path of [`/services/${String(id)}`, "/services/none"])
      expect(await ask(emulator, `GET ${path}`, { token: String(json["accessToken"]) })).toMatchObject({ status: 404 });
    expect(await call(`PUT /services/${String(id)}`, { tasks: "all" })).toMatchObject({
      status: 400,
      json: refusal('"tasks"'),
    });
  });
});

test("GET and PUT /services/syncSettings: options are merged, unknown ones kept, wrong ones named", async () => {
  const { call } = await startUser();
  expect(await call("GET /services/syncSettings")).toEqual({ status: 200, json: {} });
  await call("PUT /services/syncSettings", { syncCalendar: true, calSyncDirection: "TO_PORTAL", novel: "x" });
  await call("PUT /services/syncSettings", { calPastWeeks: 4 });
  expect((await call("GET /services/syncSettings")).json).toEqual({
    syncCalendar: true,
    calSyncDirection: "TO_PORTAL",
    calPastWeeks: 4,
    novel: "x",
  });
  for (const [field, value] of Object.entries({ calSyncDirection: "UP", logEmail: "yes", calFutureWeeks: 1.5 }))
    expect(await call("PUT /services/syncSettings", { [field]: value })).toMatchObject({
      status: 400,
      json: refusal(`"${field}"`),
    });
});

describe("GET and POST /sync", () => {
  test("a run is requested, queued, executed and over, while the clock advances", async () => {
    const { call, emulator } = await startUser();
    const state = async () => (await call("GET /sync")).json;
    expect(await state()).toMatchObject({
      syncState: "IDLE",
      userLastSynced: null,
      lastRequest: null,
      userSyncEnabled: false,
    });
    expect(await call("POST /sync", { initial: "true" })).toMatchObject({ status: 200 });
    const states = [];
    for (let second = 0; second < 8; second += 1) {
      states.push((await state())["syncState"]);
      await emulator.advance(1_000);
      if (second === 1) await call("POST /sync", { initial: "true" }); // while one is under way: nothing
    }
    expect(states).toEqual(["REQUESTED", "QUEUED", ...Array.from({ length: 5 }, () => "EXECUTING"), "IDLE"]);
    expect(await state()).toMatchObject({
      lastRequest: "2026-01-02T03:04:05.000Z",
      userLastSynced: "2026-01-02T03:04:12.000Z",
    });
  });

  test("tells which service it could not reach", async () => {
    const { call, emulator } = await startUser();
    const { id, authRedirectUrl } = (await call("POST /services", { type: "mailbox" })).json;
    const run = async () => {
      await call("POST /sync", { initial: "true" });
      await emulator.advance(10_000);
      return (await call("GET /sync")).json;
    };
    expect(await run()).toMatchObject({
      errSvcId: id,
      errMessage: expect.stringContaining("not authorised") as string,
      errTimestamp: "2026-01-02T03:04:12.000Z",
    });
    await fetch(String(authRedirectUrl));
    expect(await run()).toMatchObject({ errors: [], errSvcId: null, errMessage: null, errTimestamp: null });
  });

  test("takes the strings true and false alone", async () => {
    const { call } = await startUser();
    for (const initial of [true, "yes", undefined])
      expect(await call("POST /sync", { initial })).toMatchObject({ status: 400, json: refusal('"initial"') });
  });
});

describe("review and activation (protocol 3)", () => {
  const review = async ({ call }: Awaited<ReturnType<typeof startUser>>) =>
    (await call("GET /sync")).json["needReview"];

  test("GET /rules/<type>/report, PUT /rules/<type>/allowSync, PUT /allowSync", async () => {
    const user = await startUser();
    const { call } = user;
    expect(await review(user)).toEqual(["CALENDAR", "EMAIL", "CONTACTS", "TASKS"]);
    expect(await call("GET /rules/email/report")).toMatchObject({ status: 200, json: { type: "EMAIL" } });
    expect(await call("PUT /rules/email/allowSync")).toMatchObject({ status: 200 });
    expect(await review(user)).toEqual(["CALENDAR", "CONTACTS", "TASKS"]);
    expect(await call("GET /rules/email/report")).toMatchObject({ status: 404, json: refusal("EMAIL is activated") });
    expect((await call("GET /sync")).json).toMatchObject({ userSyncEnabled: true });
    expect(await call("PUT /allowSync", ["CALENDAR", "TASKS"])).toMatchObject({ status: 200 });
    expect(await review(user)).toEqual(["CONTACTS"]);
    await call("PUT /allowSync", ["CONTACTS"]);
    expect(await review(user)).toBeNull();
  });

  test("name what they do not know", async () => {
    const { call } = await startUser();
    expect(await call("GET /rules/photos/report")).toMatchObject({ status: 404, json: refusal('"photos"') });
    expect(await call("PUT /rules/photos/allowSync")).toMatchObject({ status: 404 });
    expect(await call("PUT /allowSync", ["PHOTOS"])).toMatchObject({ status: 400, json: refusal('"0"') });
    expect(await call("PUT /allowSync", { modules: [] })).toMatchObject({ status: 400 });
  });
});

describe("template groups", () => {
  /** An admin has made a group with one service; then a user of the same organisation signs up. */
  async function withTemplate(lockService: boolean) {
    const admin = await startUser();
    const { call, emulator } = admin;
    const { id: gid } = (await call("POST /templateGroups", { name: "Sales" })).json;
    const template = await call(`POST /templateGroups/${String(gid)}/services`, {
      type: "sales",
      displayName: "CRM",
      lockService,
    });
    await fetch(String(template.json["authRedirectUrl"]));
    await call(`PUT /templateGroups/${String(gid)}/syncSettings`, { syncTasks: true });
    const { json } = await ask(emulator, "POST /signup", { body: signUpOf(emulator, { userExtId: "user-8" }) });
    const token = String(json["accessToken"]);
    const callAsUser = (line: string, body?: unknown) =>
      ask(emulator, line, { token, ...(body !== undefined && { body }) });
    return { call, callAsUser, gid: String(gid), template: template.json };
  }

  test("GET and POST /templateGroups, PUT /templateGroups/{gid}", async () => {
    const { call } = await startUser();
    expect((await call("GET /templateGroups")).json).toEqual([]);
    const { id } = (await call("POST /templateGroups", { name: "Sales", note: 1 })).json;
    await call(`PUT /templateGroups/${String(id)}`, { name: "Support" });
    expect((await call("GET /templateGroups")).json).toEqual([{ id, name: "Support", note: 1 }]);
    expect(await call("POST /templateGroups", { name: 7 })).toMatchObject({ status: 400, json: refusal('"name"') });
    expect(await call("PUT /templateGroups/1", { name: "x" })).toMatchObject({ status: 404 });
  });

  test("GET and POST /templateGroups/{gid}/services, GET /templateGroups/{gid}/services/{id}", async () => {
    const { call, gid, template } = await withTemplate(false);
    expect(template).toMatchObject({ groupId: Number(gid), lockService: false, type: "sales" });
    expect(template).not.toHaveProperty("templId");
    const authorised = Object.assign({}, template, { authRedirectUrl: null, authError: null });
    expect((await call(`GET /templateGroups/${gid}/services`)).json).toEqual([authorised]);
    expect((await call(`GET /templateGroups/${gid}/services/${String(template["id"])}`)).json).toEqual(authorised);
    const path = `/templateGroups/${gid}/services/${String(template["id"])}`;
    for (const [method, displayName] of [
      ["PUT", "Mail"],
      ["POST", "Post"],
    ] as const) {
      const { json } = await call(`${method} ${path}`, { displayName, id: 1, groupId: 1 });
      expect(json).toEqual(Object.assign({}, authorised, { displayName }));
    }
    expect((await call(`PUT ${path}`, { lockService: "yes" })).json).toMatchObject(refusal('"lockService"'));
    expect(await call(`GET /templateGroups/${gid}/services/1`)).toMatchObject({ status: 404 });
    expect(await call("GET /templateGroups/1/services")).toMatchObject({ status: 404 });
    expect(await call(`POST /templateGroups/${gid}/services`, { lockService: true })).toMatchObject({
      status: 400,
      json: refusal('"type"'),
    });
  });

  test("GET and PUT /templateGroups/{gid}/syncSettings", async () => {
    const { call, gid } = await withTemplate(false);
    expect((await call(`GET /templateGroups/${gid}/syncSettings`)).json).toEqual({
      syncTasks: true,
      templGroupId: Number(gid),
    });
    expect(await call(`PUT /templateGroups/${gid}/syncSettings`, { syncTasks: 1 })).toMatchObject({
      status: 400,
      json: refusal('"syncTasks"'),
    });
  });

  test("give a new user services and settings, and the user still reviews", async () => {
    const { callAsUser, template } = await withTemplate(false);
    expect((await callAsUser("GET /services")).json).toMatchObject([
      { type: "sales", displayName: "CRM", templId: template["id"], templLocked: false, authRedirectUrl: null },
    ]);
    expect((await callAsUser("GET /services/syncSettings")).json).toEqual({ syncTasks: true });
    expect((await callAsUser("GET /me")).json).toMatchObject({ templCount: 1 });
    expect((await callAsUser("GET /sync")).json["needReview"]).toHaveLength(4);
  });

  test("skip the review where all services are locked, and a locked one cannot be changed", async () => {
    const { callAsUser } = await withTemplate(true);
    expect((await callAsUser("GET /sync")).json).toMatchObject({ needReview: null, userSyncEnabled: true });
    const [service] = (await callAsUser("GET /services")).json;
    expect(await callAsUser(`PUT /services/${String(service?.["id"])}`, { email: "x" })).toMatchObject({
      status: 403,
      json: refusal("locked by its template"),
    });
  });
});
