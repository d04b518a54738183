import { isHooklineError } from "hookline";
import { describe, expect, test } from "vitest";
import { createClient, createOAuth, type OAuthOptions } from "../../src/client.ts";
import { startEmulator } from "../emulator/support.ts";
import { skippingClock, startService } from "./support.ts";

const returnUrl = "https://app.example.com/authorised?from=menu";
const session = "session-of-ada";

async function atEmulator(options: Partial<OAuthOptions> = {}) {
  const emulator = await startEmulator();
  const { appId: clientId, appSecret: clientSecret, url: baseUrl } = emulator;
  return { emulator, oauth: createOAuth({ clientId, clientSecret, baseUrl, ...options }) };
}

/** What the user's browser does: the service sends it back to the application. */
async function agree(url: string): Promise<string> {
  const { status, headers } = await fetch(url, { redirect: "manual" });
  expect(status).toBe(303);
  return headers.get("location") ?? "";
}

/** With another state. */
function withState(url: string, change: (state: string) => string): string {
  const changed = new URL(url);
  changed.searchParams.set("state", change(changed.searchParams.get("state") ?? ""));
  return changed.href;
}

describe("the authorisation of an account", () => {
  test("GET /v1/auth/authorize, POST /v1/auth/token/{code}: gives the token that calls need", async () => {
    const { emulator, oauth } = await atEmulator();
    const url = await oauth.authorizeUrl({
      serviceType: "Google",
      returnUrl,
      session,
      scopes: ["Mail.Read", "Calendar.ReadWrite"],
      loginHint: "ada@example.com",
      data: "/inbox",
      parameters: { ensureScopes: true },
    });
    expect(Object.fromEntries(new URL(url).searchParams)).toMatchObject({
      clientId: emulator.appId,
      serviceType: "Google",
      returnUrl,
      scopes: "Mail.Read Calendar.ReadWrite",
      loginHint: "ada@example.com",
      responseType: "code",
      ensureScopes: "true",
    });
    expect(url).not.toContain(session);
    const authorization = await oauth.callback(await agree(url), session);
    expect(authorization).toMatchObject({ accountId: expect.any(Number) as number, data: "/inbox" });
    const client = createClient({ baseUrl: emulator.url, token: authorization.accessToken });
    expect(await client.calendars.get("primary")).toMatchObject({ primary: true });
  });

  test("renews an account that is lost", async () => {
    const { emulator, oauth } = await atEmulator();
    const account = await emulator.account();
    await account.expireCredentials();
    const { accountId } = account;
    const url = await oauth.authorizeUrl({ serviceType: "Google", returnUrl, session, accountId });
    expect(await oauth.callback(await agree(url), session)).toMatchObject({ accountId, accessToken: account.token });
  });

  test("works where a framework gives a path alone", async () => {
    const { oauth } = await atEmulator();
    const back = new URL(await agree(await oauth.authorizeUrl({ serviceType: "Google", returnUrl, session })));
    expect(await oauth.callback(back.pathname + back.search, session)).toMatchObject({ data: "" });
  });

  test.each<[string, (back: string) => string, string]>([
    ["of another session", (back) => back, "session-of-grace"],
    ["that is missing", (back) => back.replace(/state=[^&]*/, ""), session],
    ["whose signature is cut", (back) => withState(back, (state) => state.slice(0, -1)), session],
    ["whose signature is no base64", (back) => withState(back, (state) => `${state}!`), session],
    ["without a signature", (back) => withState(back, (state) => state.split(".")[0] ?? ""), session],
    ["with other data", (back) => withState(back, (state) => `${btoa('[9e15,"x"]')}.${state.split(".")[1]}`), session],
    ["that is empty", (back) => withState(back, () => ""), session],
  ])("a state %s is refused, and the code stays unused", async (_name, change, who) => {
    const { oauth } = await atEmulator();
    const back = await agree(await oauth.authorizeUrl({ serviceType: "Google", returnUrl, session, data: "/inbox" }));
    const refused: unknown = await oauth.callback(change(back), who).catch((error: unknown) => error);
    expect(isHooklineError(refused, "state-invalid")).toBe(true);
    await expect(oauth.callback(back, session)).resolves.toMatchObject({ data: "/inbox" });
  });

  test("a state of another application is refused", async () => {
    const { oauth } = await atEmulator();
    const back = await agree(await oauth.authorizeUrl({ serviceType: "Google", returnUrl, session }));
    const other = createOAuth({ clientId: "app", clientSecret: "other" });
    await expect(other.callback(back, session)).rejects.toThrow("was not made for this session, or was changed");
  });

  test("a state ends after 15 minutes", async () => {
    let now = 0;
    const clock = { ...skippingClock(), now: () => now };
    const { oauth } = await atEmulator({ clock });
    const back = await agree(await oauth.authorizeUrl({ serviceType: "Google", returnUrl, session }));
    now = 15 * 60_000 + 1;
    await expect(oauth.callback(back, session)).rejects.toThrow("is older than 15 minutes");
    now -= 1;
    await expect(oauth.callback(back, session)).resolves.toHaveProperty("accessToken");
  });

  test("without a code the access was not granted", async () => {
    const { oauth } = await atEmulator();
    const { searchParams } = new URL(await oauth.authorizeUrl({ serviceType: "Google", returnUrl, session }));
    const back = `/authorised?state=${searchParams.get("state")}&error=denied`;
    await expect(oauth.callback(back, session)).rejects.toThrow("the access was not granted");
  });

  test("a code works once, and its exchange is never repeated", async () => {
    const { oauth } = await atEmulator();
    const back = await agree(await oauth.authorizeUrl({ serviceType: "Google", returnUrl, session }));
    await oauth.callback(back, session);
    await expect(oauth.callback(back, session)).rejects.toMatchObject({ status: 400, serviceCode: "code.notValid" });

    const { url: baseUrl, requests } = await startService(() => ({ status: 503 }));
    const failing = createOAuth({ clientId: "app", clientSecret: "s", baseUrl, clock: skippingClock() });
    await expect(failing.exchange("c-1")).rejects.toMatchObject({ status: 503, outcomeUnknown: true });
    expect(requests).toHaveLength(1);
  });

  test("a wrong secret is refused with the fix", async () => {
    const { oauth } = await atEmulator({ clientSecret: "wrong" });
    await expect(oauth.exchange("c-1")).rejects.toThrow("Check clientId and clientSecret.");
  });

  test.each(["clientId", "clientSecret"])("needs a %s", (name) => {
    const make = () => createOAuth({ clientId: "app", clientSecret: "s", [name]: "" });
    expect(make).toThrow(`createOAuth got no ${name}`);
  });

  test("needs a session: without one anybody could bring a code of theirs", async () => {
    const { oauth } = await atEmulator();
    const request = { serviceType: "Google", returnUrl, session: "" };
    await expect(oauth.authorizeUrl(request)).rejects.toThrow("got no session");
    await expect(oauth.callback("/x?code=1", "")).rejects.toThrow("got no session");
  });
});
