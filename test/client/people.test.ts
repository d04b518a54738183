import { describe, expect, test } from "vitest";
import {
  createClient,
  NotFound,
  PreconditionFailed,
  TokenExpired,
  type Client,
  type DeltaSync,
  type Paged,
} from "../../src/client.ts";
import type { AccountSeed, EmulatorOptions } from "../../src/emulator.ts";
import { DAY_MS, startEmulator } from "../emulator/support.ts";
import { startService } from "./support.ts";

/** A client of an account of the emulator. */
async function atEmulator(seed: AccountSeed = {}, options: EmulatorOptions = {}) {
  const emulator = await startEmulator({ pageSize: 2, ...options });
  const account = await emulator.account(seed);
  const client = createClient({ baseUrl: emulator.url, token: account.token, rateLimit: false, retry: false });
  return { emulator, account, client };
}

async function allOf<T>(list: Paged<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const one of list) all.push(one);
  return all;
}

/** Both walks of a sync, from its start on: ids. */
async function walk<T extends { readonly id: string }>(sync: DeltaSync<T, { readonly id: string }, void>) {
  const { syncUpdatedToken, syncDeletedToken } = await sync.start();
  return {
    updated: async () => (await allOf(sync.updated({ deltaToken: syncUpdatedToken }))).map(({ id }) => id),
    deleted: async () => (await allOf(sync.deleted({ deltaToken: syncDeletedToken }))).map(({ id }) => id),
    expired: () => sync.updated({ deltaToken: syncUpdatedToken }).page(),
  };
}

const ADA = { name: { displayName: "Ada Byron" }, emailAddresses: [{ address: "ada@example.com" }] };

describe("contacts", () => {
  test("POST, GET, PATCH and DELETE /v1/contacts", async () => {
    const { client } = await atEmulator();
    const { id, etag = "", record } = await client.contacts.create({ ...ADA, photo: { content: "aGk=" } });
    expect(record).toMatchObject({ ...ADA, id, etag, hasPhoto: true });
    expect(await client.contacts.get(id)).toEqual(record);
    expect(await client.contacts.get(id, { withPhoto: true })).toMatchObject({ photo: { content: "aGk=" } });
    const updated = await client.contacts.update(id, { notes: "Countess" }, { ifMatch: etag });
    expect(updated).toMatchObject({ id, record: { ...ADA, notes: "Countess", etag: updated.etag } });
    await expect(client.contacts.update(id, {}, { ifMatch: etag })).rejects.toThrow(PreconditionFailed);
    await client.contacts.delete(id);
    await expect(client.contacts.get(id)).rejects.toThrow(NotFound);
  });

  test("POST /v1/contacts/sync and its walks", async () => {
    const { emulator, account, client } = await atEmulator(
      { contacts: [ADA, ADA, ADA] },
      { deltaSync: { tokenLifeMs: DAY_MS } },
    );
    const { updated, deleted, expired } = await walk(client.contacts.sync);
    const ids = await updated();
    expect(ids).toHaveLength(3);
    await account.remove("/contacts", ids[1] ?? "");
    expect(await deleted()).toEqual([ids[1]]);
    await emulator.advance(DAY_MS + 1);
    await expect(expired()).rejects.toThrow(TokenExpired);
  });
});

describe("tasks", () => {
  test("GET, POST, PATCH and DELETE /v1/tasklists", async () => {
    const { client } = await atEmulator({ taskLists: [{ title: "Home" }, { title: "Work" }] });
    expect((await allOf(client.taskLists.list())).map(({ title }) => title)).toEqual(["Tasks", "Home", "Work"]);
    const { id, etag = "" } = await client.taskLists.create({ title: "Errands" });
    const updated = await client.taskLists.update(id, { title: "Shopping" }, { ifMatch: etag });
    expect(updated).toMatchObject({ id, title: "Shopping", defaultList: false });
    expect(await client.taskLists.get(id)).toEqual(updated);
    expect(await client.taskLists.get("default")).toMatchObject({ title: "Tasks", defaultList: true });
    await expect(client.taskLists.update(id, { title: "x" }, { ifMatch: etag })).rejects.toThrow(PreconditionFailed);
    await client.taskLists.delete(id);
    await expect(client.taskLists.get(id)).rejects.toThrow(NotFound);
  });

  test("GET, POST, PATCH and DELETE /v1/tasklists/{id}/tasks, by the alias and by the id of the list", async () => {
    const { client } = await atEmulator({ tasks: [{ title: "a" }, { title: "b" }] });
    const { id, record } = await client.tasks("default").create({ title: "Call", importance: "high" });
    expect(record).toMatchObject({ title: "Call", importance: "high", status: "notStarted" });
    const tasks = client.tasks((await client.taskLists.get("default")).id);
    expect((await allOf(tasks.list())).map(({ title }) => title)).toEqual(["a", "b", "Call"]);
    expect(await tasks.get(id)).toEqual(record);
    const { etag = "", record: done } = await tasks.update(id, { status: "completed" });
    expect(done).toMatchObject({ status: "completed", completed: expect.any(String) as string });
    expect(await tasks.update(id, { notes: "at last" }, { ifMatch: etag })).toMatchObject({ id });
    await expect(tasks.update(id, {}, { ifMatch: etag })).rejects.toThrow(PreconditionFailed);
    await tasks.delete(id);
    await expect(tasks.get(id)).rejects.toThrow(NotFound);
  });

  test("POST /v1/tasklists/{id}/sync and its walks", async () => {
    const old = { title: "old", completed: "2025-12-31T10:00:00Z" };
    const { account, client } = await atEmulator({ tasks: [{ title: "a" }, old, { title: "b" }] });
    const { sync } = client.tasks("default");
    const { updated, deleted } = await walk(sync);
    const ids = await updated();
    expect(ids).toHaveLength(3);
    const { syncUpdatedToken } = await sync.start({ skipCompletedBeforeDate: "2026-01-01T00:00:00Z" });
    expect((await allOf(sync.updated({ deltaToken: syncUpdatedToken }))).map(({ title }) => title)).toEqual(["a", "b"]);
    await account.remove("/tasklists/default/tasks", ids[0] ?? "");
    expect(await deleted()).toEqual([ids[0]]);
  });
});

test.each<[string, (client: Client) => Promise<unknown>]>([
  ["an event", (client) => client.calendar("primary").events.update("e", {}, undefined as never)],
  ["a contact", (client) => client.contacts.update("c", {}, undefined as never)],
  ["a task list", (client) => client.taskLists.update("l", { title: "x" }, {} as never)],
  ["a task", (client) => client.tasks("default").update("t", {}, { ifMatch: "" })],
])("an update of %s without an etag is refused before it is sent", async (_name, update) => {
  const { url, requests } = await startService(() => ({ json: {} }));
  await expect(update(createClient({ token: "t", baseUrl: url }))).rejects.toMatchObject({ code: "option-invalid" });
  expect(requests).toEqual([]);
});

test("fields of a contact or a task that are of another kind are left out, others are kept", async () => {
  const { url } = await startService(() => ({
    json: { id: "k", name: "Ada", emailAddresses: [5, { address: "a@example.com" }], status: 5, color: "red" },
  }));
  const client = createClient({ token: "t", baseUrl: url });
  expect(await client.contacts.get("k")).toEqual({
    id: "k",
    emailAddresses: [{ address: "a@example.com" }],
    status: 5,
    color: "red",
  });
  expect(await client.tasks("default").get("k")).not.toHaveProperty("status");
});

test("the answer to create may lack the record", async () => {
  const { url } = await startService(() => ({ json: { id: "k", etag: "1" } }));
  const client = createClient({ token: "t", baseUrl: url });
  expect(await client.contacts.create({})).toEqual({ id: "k", etag: "1" });
  expect(await client.tasks("default").create({})).toEqual({ id: "k", etag: "1" });
});

test.each(["3001", 3001])("trackingId of a sent mail is a number, also where it comes as %o", async (trackingId) => {
  const { url } = await startService(() => ({ status: 201, json: { status: "Ok", trackingId } }));
  const client = createClient({ token: "t", baseUrl: url });
  expect(await client.messages.send({ to: [] })).toMatchObject({ trackingId: 3001 });
});

test("the start of a rule in a series' recurrence is a time as events have it", async () => {
  const { client } = await atEmulator();
  const start = { dateTime: "2026-01-20T09:00:00Z", timezone: "UTC" };
  const ical = { rules: ["RRULE:FREQ=DAILY"], recurrenceStart: start };
  const { record } = await client.calendar("primary").events.create({ start, end: start, recurrence: { ical } });
  expect(record?.recurrence).toEqual({ original: "ical", ical });
});
