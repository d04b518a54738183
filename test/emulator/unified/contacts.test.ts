import { describe, expect, test } from "vitest";
import { call, startEmulator, startReceiver } from "../support.ts";

const ADA = {
  name: { displayName: "Ada Byron", givenName: "Ada" },
  emailAddresses: [{ address: "ada@example.com", type: "work" }],
  nickName: "A.",
};

async function startContacts() {
  const emulator = await startEmulator();
  const account = await emulator.account();
  const ask = (line: string, body?: unknown, etag?: unknown) =>
    call(emulator, line, {
      token: account.token,
      ...(body !== undefined && { body }),
      ...(etag !== undefined && { headers: { "If-Match": etag as string } }),
    });
  const create = async (contact: object = ADA) => (await ask("POST /v1/contacts", contact)).json;
  return { emulator, account, ask, create };
}

describe("POST /v1/contacts", () => {
  test("answers 201 with id, etag and record, and announces the contact", async () => {
    const { emulator, account, ask } = await startContacts();
    const receiver = await startReceiver();
    await emulator.subscribe(account, "/contacts", receiver.url);
    const { status, json } = await ask("POST /v1/contacts", { ...ADA, id: "mine", etag: "mine", hasPhoto: true });
    expect(status).toBe(201);
    const { id, etag, record } = json;
    expect(Object.keys(json).toSorted()).toEqual(["etag", "id", "record"]);
    expect(record).toMatchObject({ ...ADA, id, etag, hasPhoto: false });
    expect(id).not.toBe("mine");
    await emulator.settled();
    expect(receiver.received.map(({ body }) => JSON.parse(body) as object)).toMatchObject([
      { resource: "/contacts", payloads: [{ id, changeType: "created" }] },
    ]);
  });

  test.each([
    ["emailAddresses", { emailAddresses: "ada@example.com" }],
    ["name", { name: "Ada Byron" }],
    ["phoneNumbers.0.number", { phoneNumbers: [{ number: 5 }] }],
  ])("400 that names %s", async (field, fields) => {
    const { ask } = await startContacts();
    const { status, json } = await ask("POST /v1/contacts", fields);
    expect({ status, message: json["message"] }).toEqual({
      status: 400,
      message: expect.stringContaining(`The field "${field}" is wrong: `) as string,
    });
  });
});

describe("GET /v1/contacts/{id}", () => {
  test("gets a contact, with its photo where it is asked for", async () => {
    const { ask, create } = await startContacts();
    const photo = { mimeType: "image/png", content: "aGk=" };
    const { id, etag } = await create({ ...ADA, photo });
    const { json } = await ask(
      `GET /v1/contacts/${String(id)}?bodyType=text&nativeProperties=a&includeUpdateToken=true`,
    );
    expect(json).toMatchObject({ ...ADA, id, etag, hasPhoto: true });
    expect(json).not.toHaveProperty("photo");
    expect((await ask(`GET /v1/contacts/${String(id)}?withPhoto=true`)).json).toMatchObject({ photo, hasPhoto: true });
  });

  test("404 for none, 400 for a wrong flag, 401 without a token", async () => {
    const { emulator, ask } = await startContacts();
    expect(await ask("GET /v1/contacts/none")).toMatchObject({ status: 404, json: { code: "not_found" } });
    expect((await ask("GET /v1/contacts/none?withPhoto=yes")).json["message"]).toContain('"withPhoto"');
    for (const line of ["POST /v1/contacts", "GET /v1/contacts/1", "PATCH /v1/contacts/1", "DELETE /v1/contacts/1"])
      expect((await call(emulator, line)).status).toBe(401);
  });
});

describe("PATCH /v1/contacts/{id}", () => {
  test("replaces the fields that are given, where If-Match is the etag", async () => {
    const { ask, create } = await startContacts();
    const { id, etag } = await create();
    const { status, json } = await ask(`PATCH /v1/contacts/${String(id)}`, { nickName: "Ada", id: "mine" }, etag);
    expect(status).toBe(200);
    expect(Object.keys(json).toSorted()).toEqual(["etag", "id", "record"]);
    expect(json).toMatchObject({ id, record: { ...ADA, nickName: "Ada", etag: json["etag"] } });
    expect(json["etag"]).not.toBe(etag);
  });

  test("400 without If-Match, 412 with another etag, and nothing is changed", async () => {
    const { ask, create } = await startContacts();
    const { id, etag, record } = await create();
    const line = `PATCH /v1/contacts/${String(id)}`;
    expect(await ask(line, { nickName: "x" })).toMatchObject({ status: 400, json: { code: "badRequest" } });
    expect(await ask(line, { nickName: "x" }, "")).toMatchObject({ status: 400 });
    expect(await ask(line, { nickName: "x" }, '"other"')).toMatchObject({
      status: 412,
      json: { code: "preconditionFailed", message: expect.stringContaining(String(etag)) as string },
    });
    expect((await ask(`GET /v1/contacts/${String(id)}`)).json).toEqual(record);
    expect((await ask("PATCH /v1/contacts/none", {}, etag)).status).toBe(404);
  });
});

test("DELETE /v1/contacts/{id} has an empty body, and is announced", async () => {
  const { emulator, account, ask, create } = await startContacts();
  const { id } = await create();
  const receiver = await startReceiver();
  await emulator.subscribe(account, "/contacts", receiver.url);
  const response = await fetch(`${emulator.url}/v1/contacts/${String(id)}`, {
    method: "DELETE",
    headers: { Authorization: `Bearer ${account.token}` },
  });
  expect([response.status, await response.text()]).toEqual([200, ""]);
  expect((await ask(`DELETE /v1/contacts/${String(id)}`)).status).toBe(404);
  await emulator.settled();
  expect(receiver.received.map(({ body }) => JSON.parse(body) as object)).toMatchObject([
    { payloads: [{ id, changeType: "deleted" }] },
  ]);
});

test("GET /v1/contacts/sync/updated has contacts as GET has them, without photos", async () => {
  const { ask, create } = await startContacts();
  const { id } = await create({ ...ADA, photo: { content: "aGk=" } });
  const { json } = await ask("POST /v1/contacts/sync");
  const page = await ask(`GET /v1/contacts/sync/updated?deltaToken=${String(json["syncUpdatedToken"])}`);
  expect(page.json["records"]).toEqual([(await ask(`GET /v1/contacts/${String(id)}`)).json]);
});
