import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { EmulatorOptions } from "../../../src/emulator.ts";
import { pageOf } from "../../../src/emulator/unified-api/pages.ts";
import { call, startEmulator, startReceiver } from "../support.ts";

async function startAccount(options: EmulatorOptions = {}) {
  const emulator = await startEmulator(options);
  const account = await emulator.account();
  const ask = (line: string, body?: unknown) =>
    call(emulator, line, { token: account.token, ...(body !== undefined && { body }) });
  return { emulator, account, ask };
}

describe("GET /v1/calendars", () => {
  test("lists an account's calendars, the primary one first", async () => {
    const { emulator, ask } = await startAccount();
    await emulator.account();
    await ask("POST /v1/calendars", { name: "Team" });
    for (const query of ["", "?withShared=true&mode=user", "?pageToken="])
      expect(await ask(`GET /v1/calendars${query}`)).toMatchObject({
        status: 200,
        json: {
          length: 2,
          records: [
            { name: "Calendar", primary: true, accessRole: "owner" },
            { name: "Team", primary: false },
          ],
        },
      });
  });

  test("has shared ones where that is asked for", async () => {
    const { emulator } = await startAccount();
    const { token } = await emulator.account({ calendars: [{ name: "Team" }, { name: "Boss", isShared: true }] });
    const names = async (query: string) =>
      ((await call(emulator, `GET /v1/calendars${query}`, { token })).json["records"] as readonly object[]).map(
        (record) =>
          Object.entries(record).flatMap(([key, value]) =>
            ["name", "accessRole"].includes(key) ? [value as string] : [],
          ),
      );
    expect(await names("")).toEqual([
      ["Calendar", "owner"],
      ["Team", "owner"],
    ]);
    expect((await names("?withShared=true")).at(-1)).toEqual(["Boss", "reader"]);
  });

  test("pages to the end, with changes in between", async () => {
    const { ask } = await startAccount({ pageSize: 2 });
    for (const name of ["a", "b", "c"]) await ask("POST /v1/calendars", { name });
    const names: unknown[] = [];
    let pageToken = "";
    do {
      const { json } = await ask(`GET /v1/calendars?pageToken=${encodeURIComponent(pageToken)}`);
      names.push(...(json["records"] as readonly { readonly name: string }[]).map(({ name }) => name));
      if (names.length === 2) await ask("POST /v1/calendars", { name: "d" });
      pageToken = (json["nextPageToken"] as string | undefined) ?? "";
    } while (pageToken !== "");
    expect(names).toEqual(["Calendar", "a", "b", "c", "d"]);
  });

  test("names what is wrong, and refuses a token that is none", async () => {
    const { ask } = await startAccount();
    expect(await ask("GET /v1/calendars?withShared=yes")).toMatchObject({ status: 400 });
    expect((await ask("GET /v1/calendars?mode=all")).json["message"]).toContain('"mode"');
    for (const token of ["x", Buffer.from('["messages",0]').toString("base64url")])
      expect(await ask(`GET /v1/calendars?pageToken=${token}`)).toMatchObject({
        status: 400,
        json: { code: "token.notValid" },
      });
  });
});

test("POST /v1/calendars has the status of the service's public reference, if wished", async () => {
  const { ask } = await startAccount({ variants: { calendarCreatedStatus: 200 } });
  expect(await ask("POST /v1/calendars", { name: "Team" })).toMatchObject({ status: 200, json: { name: "Team" } });
});

test("POST /v1/calendars", async () => {
  const { ask } = await startAccount();
  const made = await ask("POST /v1/calendars", { name: "Team", color: "red" });
  expect(made).toMatchObject({ status: 201, json: { name: "Team", color: "red", primary: false } });
  expect(await ask("POST /v1/calendars", {})).toMatchObject({ status: 400 });
  expect((await ask("POST /v1/calendars", { name: "" })).json["message"]).toContain('"name"');
});

describe("GET and PATCH /v1/calendars/{id}", () => {
  test("by the id, and by the alias primary", async () => {
    const { ask } = await startAccount();
    const { json } = await ask("GET /v1/calendars/primary");
    expect(json).toMatchObject({ name: "Calendar", primary: true });
    expect((await ask(`PATCH /v1/calendars/${String(json["id"])}`, { name: "Mine" })).json).toMatchObject({
      name: "Mine",
    });
    expect((await ask("GET /v1/calendars/primary")).json).toEqual({ ...json, name: "Mine" });
  });

  test("404 for none, and for another account's; 400 that names the field; 401", async () => {
    const { emulator, ask } = await startAccount();
    const { json } = await ask("GET /v1/calendars/primary");
    const { token } = await emulator.account();
    const path = `/v1/calendars/${String(json["id"])}`;
    expect(await call(emulator, `GET ${path}`, { token })).toMatchObject({ status: 404, json: { code: "not_found" } });
    expect(await ask("PATCH /v1/calendars/none", { name: "x" })).toMatchObject({ status: 404 });
    expect((await ask("PATCH /v1/calendars/primary", { name: 7 })).json["message"]).toContain('"name"');
    for (const line of ["GET /v1/calendars", "POST /v1/calendars", `GET ${path}`, `PATCH ${path}`])
      expect(await call(emulator, line)).toMatchObject({ status: 401, json: { code: "unauthorized" } });
  });
});

test("an event of another calendar than the primary one is announced to who watches that one alone", async () => {
  const { emulator, account, ask } = await startAccount();
  const receiver = await startReceiver();
  const team = String((await ask("POST /v1/calendars", { name: "Team" })).json["id"]);
  await emulator.subscribe(account, "/calendars/primary/events", receiver.url);
  const id = await emulator.subscribe(account, `/calendars/${team}/events`, receiver.url);
  const event = await account.addEvent({}, team);
  await emulator.settled();
  expect(receiver.received.map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([
    { subscription: id, payloads: [{ id: event.id, changeType: "created" }] },
  ]);
  expect(await ask(`GET /v1/calendars/${team}/events/${event.id}`)).toMatchObject({ status: 200 });
  expect(await ask(`GET /v1/calendars/primary/events/${event.id}`)).toMatchObject({ status: 404 });
});

test("pages: whatever comes and goes in between, what stays comes once, in order", () => {
  const change = fc.record({ add: fc.nat(3), remove: fc.array(fc.nat(20), { maxLength: 3 }) });
  fc.assert(
    fc.property(fc.nat(20), fc.integer({ min: 1, max: 5 }), fc.array(change), (count, pageSize, changes) => {
      const records = new Map(Array.from({ length: count }, (_, nth) => [nth, nth]));
      const always = new Set(records.keys());
      let next = count;
      let pageToken: string | undefined;
      const seen: number[] = [];
      do {
        const page = pageOf(records, { list: "x", pageToken, pageSize });
        seen.push(...page.records);
        pageToken = page.nextPageToken;
        const { add = 0, remove = [] } = changes.shift() ?? {};
        for (let more = 0; more < add; more += 1, next += 1) records.set(next, next);
        for (const nth of remove) if (records.delete(nth)) always.delete(nth);
      } while (pageToken !== undefined);
      expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => a - b));
      for (const nth of always) expect(seen).toContain(nth);
    }),
  );
});
