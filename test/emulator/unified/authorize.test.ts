import { expect, test } from "vitest";
import type { Emulator } from "../../../src/emulator.ts";
import { call, startEmulator } from "../support.ts";

const RETURN_URL = "https://app.example.com/back?from=hookline";

async function authorize(emulator: Emulator, fields: Record<string, string> = {}) {
  const query = new URLSearchParams({
    clientId: emulator.appId,
    serviceType: "Office365",
    returnUrl: RETURN_URL,
    ...fields,
  });
  const response = await fetch(`${emulator.url}/v1/auth/authorize?${query.toString()}`, { redirect: "manual" });
  const location = response.headers.get("location");
  return {
    status: response.status,
    text: await response.text(),
    back: location === null ? undefined : new URL(location),
  };
}

function exchange(emulator: Emulator, code: string, secret = emulator.appSecret) {
  const basic = Buffer.from(`${emulator.appId}:${secret}`).toString("base64");
  return call(emulator, `POST /v1/auth/token/${code}`, { headers: { Authorization: `Basic ${basic}` } });
}

test("GET /v1/auth/authorize goes back with a code, and POST /v1/auth/token/{code} gives the account's token once", async () => {
  const emulator = await startEmulator();
  const { status, back } = await authorize(emulator, { state: "a b&c", loginHint: "lin@example.com" });
  expect(status).toBe(303);
  expect(back?.origin).toBe("https://app.example.com");
  expect([back?.searchParams.get("from"), back?.searchParams.get("state")]).toEqual(["hookline", "a b&c"]);
  const code = back?.searchParams.get("code") ?? "";
  expect(await exchange(emulator, code, "wrong")).toMatchObject({ status: 401 });
  const { status: exchanged, json } = await exchange(emulator, code);
  expect(exchanged).toBe(200);
  expect(json).toMatchObject({ accountId: 2001, userId: expect.any(String) as string });
  const token = json["accessToken"] as string;
  expect(await call(emulator, "GET /v1/calendars", { token })).toMatchObject({ status: 200 });
  const later = (await authorize(emulator)).back?.searchParams.get("code") ?? "";
  await emulator.reset();
  for (const used of [code, later])
    expect(await exchange(emulator, used)).toMatchObject({ status: 400, json: { code: "code.notValid" } });
});

test("an account that is authorised again keeps its token, and the service has its access back", async () => {
  const emulator = await startEmulator();
  const account = await emulator.account();
  await account.expireCredentials();
  const list = () => call(emulator, "GET /v1/calendars", { token: account.token });
  expect(await list()).toMatchObject({ status: 401 });
  const { back } = await authorize(emulator, { accountId: String(account.accountId), responseType: "token" });
  expect(back?.searchParams.get("token")).toBe(account.token);
  expect(await list()).toMatchObject({ status: 200 });
});

test("names what is wrong, and goes nowhere", async () => {
  const emulator = await startEmulator();
  const wrong = { clientId: "x", returnUrl: "javascript:alert(1)", serviceType: "", responseType: "id_token" };
  for (const [field, value] of Object.entries(wrong)) {
    const { status, text, back } = await authorize(emulator, { [field]: value });
    expect([status, back]).toEqual([400, undefined]);
    expect(text).toContain(`\\"${field}\\"`);
  }
  expect((await authorize(emulator, { accountId: "7" })).status).toBe(404);
});
