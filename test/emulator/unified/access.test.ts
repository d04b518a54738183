import { expect, test } from "vitest";
import { call, startEmulator, startReceiver } from "../support.ts";

test("an account is opened with what is in its mailbox, of which nobody is notified", async () => {
  const emulator = await startEmulator();
  const account = await emulator.account({
    name: "Ada Byron",
    mail: [{ subject: "first" }, { subject: "second" }],
    events: [{ subject: "Lunch" }],
    calendars: [{ name: "Team", events: [{ subject: "Standup" }] }],
    contacts: [{ id: "made up", company: "Example" }],
    tasks: [{ title: "Call" }],
  });
  const receiver = await startReceiver();
  await emulator.subscribe(account, "/email/messages", receiver.url);
  await emulator.settled();
  expect(receiver.received).toEqual([]);
  const list = await call(emulator, "GET /v1/email/messages", { token: account.token });
  expect(list.json["records"]).toMatchObject([
    { subject: "second" },
    { subject: "first", to: [{ name: "Ada Byron" }] },
  ]);
  const overHttp = await call(emulator, "POST /emulator/accounts", { body: { mail: [{ subject: "third" }] } });
  const { token } = overHttp.json as { readonly token: string };
  expect((await call(emulator, "GET /v1/email/messages", { token })).json["records"]).toMatchObject([
    { subject: "third" },
  ]);
  expect((await call(emulator, "POST /emulator/accounts", { body: { mail: {} } })).json["message"]).toContain('"mail"');
});

test("calls beyond the limit get 429 with Retry-After, each account for itself, until the second is over", async () => {
  const emulator = await startEmulator({ callsPerSecond: 2 });
  const [{ token }, other] = [await emulator.account(), await emulator.account()];
  const list = () => call(emulator, "GET /v1/calendars", { token });
  expect([(await list()).status, (await list()).status]).toEqual([200, 200]);
  const refused = await list();
  expect(refused).toMatchObject({ status: 429, json: { code: "tooManyRequests" } });
  expect(refused.headers.get("retry-after")).toBe("1");
  expect((await call(emulator, "GET /v1/calendars", { token: other.token })).status).toBe(200);
  await emulator.advance(1_000);
  expect((await list()).status).toBe(200);
});
