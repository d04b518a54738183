import { expect, test } from "vitest";
import { createApplication, createOAuth, NotFound, Unauthorized } from "../../../src/client.ts";
import { call, startReceiver } from "../support.ts";
import { all, startMail } from "./mail-support.ts";

const IMAP = { serviceType: "IMAP", active: true, email: "lin@example.com", name: "Lin", password: "secret" };

test("GET /v1/account tells what the account is, also while the service has no access", async () => {
  const { account, own } = await startMail();
  const { accountId: id } = account;
  const user = { id, email: "user2001@example.com", name: "Grace Hopper", type: "personal", daemon: false };
  expect(await own.get({ pingProvider: true })).toMatchObject({ ...user, active: true, tokenStatus: "active" });
  await account.expireCredentials();
  expect(await own.get()).toMatchObject({ ...user, active: false, tokenStatus: "dead" });
});

test("DELETE /v1/account ends the account's subscriptions and what was to be sent, and no other's", async () => {
  const { emulator, account, client, own, drafts, receiver, notified } = await startMail();
  const other = await emulator.account();
  await emulator.subscribe(other, "/email/messages", receiver.url);
  const { id } = await drafts.create({ to: [{ address: "user2002@example.com" }] });
  await drafts.send(id, { sendTime: new Date(emulator.clock.now() + 1_000) });
  receiver.answers.push(500);
  await account.receiveMail();
  await notified();
  await own.delete();
  expect(emulator.subscriptions.map(({ accountId }) => accountId)).toEqual([other.accountId]);
  await account.receiveMail();
  await emulator.advance(60_000);
  expect(await notified()).toEqual([]);
  await expect(client.messages.list().page()).rejects.toThrow(Unauthorized);
  expect((await emulator.account()).accountId).toBe(other.accountId + 1);
  await other.receiveMail();
  expect(await notified()).toHaveLength(1);
});

test("DELETE /v1/account/token: the token is none any more, and subscriptions are errored until it is authorised again", async () => {
  const { emulator, account, own, client, notified } = await startMail();
  const old = account.token;
  await own.revokeToken();
  await expect(own.get()).rejects.toThrow(Unauthorized);
  await expect(client.messages.list().page()).rejects.toThrow(Unauthorized);
  expect(await notified()).toMatchObject([{ lifecycleEvent: "error", error: "Active token is missing" }]);
  const { appId: clientId, appSecret: clientSecret, url: baseUrl } = emulator;
  const oauth = createOAuth({ clientId, clientSecret, baseUrl, clock: emulator.clock });
  const url = await oauth.authorizeUrl({ ...REQUEST, accountId: account.accountId });
  const token = await oauth.callback(await locationOf(url), "s-1");
  expect(token).toMatchObject({ accountId: account.accountId, accessToken: account.token });
  expect(token.accessToken).not.toBe(old);
  expect(await notified()).toMatchObject([{ lifecycleEvent: "active" }]);
});

test("/v1/am/accounts: list, create, get, delete, connect", async () => {
  const { emulator, application, account, subscription, receiver } = await startMail({ pageSize: 2 });
  const { accounts } = application;
  await accounts.connect(IMAP);
  const { accountId, accessToken, userId } = await accounts.create(IMAP, { userId: "u-7", userAccount: "primary" });
  expect(userId).toBe("u-7");
  const view = await accounts.get(accountId);
  expect(view).toMatchObject({
    id: accountId,
    serviceType: "IMAP",
    type: "personal",
    email: "lin@example.com",
    userId,
  });
  expect(JSON.stringify(view)).not.toContain("secret");
  expect((await call(emulator, "GET /v1/calendars", { token: accessToken })).status).toBe(200);
  expect((await all(accounts.list())).map(({ id }) => id)).toEqual([account.accountId, accountId]);
  expect(await all(accounts.list({ serviceType: "IMAP" }))).toEqual([view]);
  expect(await all(accounts.list({ subscriptionId: subscription }))).toMatchObject([{ id: account.accountId }]);
  expect(await all(accounts.list({ subscriptionId: 7 }))).toEqual([]);
  const again = await accounts.create({ ...IMAP, name: "Lin B" }, { recycleKeys: ["email"] });
  expect(again).toMatchObject({ accountId, accessToken });
  const another = await accounts.create(IMAP, { recycleKeys: ["email", "clientOrgId"] });
  expect(another.accountId).not.toBe(accountId);
  const inactive = await accounts.create({ ...IMAP, active: false });
  expect(await accounts.get(inactive.accountId)).toMatchObject({ active: false });
  await accounts.delete(account.accountId);
  expect(emulator.subscriptions).toEqual([]);
  await expect(accounts.get(account.accountId)).rejects.toThrow(NotFound);
  await account.receiveMail();
  await emulator.settled();
  expect(receiver.received).toEqual([]);
  const wrong = createApplication({ clientId: emulator.appId, clientSecret: "x", baseUrl: emulator.url });
  await expect(wrong.accounts.get(accountId)).rejects.toThrow(Unauthorized);
});

test("/v1/am/svc_accounts: list, create, and accounts that one manages", async () => {
  const { application, account } = await startMail();
  const { accounts, serviceAccounts } = application;
  const org = { serviceType: "Google", active: true, email: "admin@example.com", clientOrgId: "o-1" };
  const { accountId } = await serviceAccounts.create(org);
  expect(await serviceAccounts.create(org, { recycleKeys: ["clientOrgId"] })).toMatchObject({ accountId });
  expect(await all(serviceAccounts.list())).toMatchObject([{ id: accountId, type: "daemon", daemon: true }]);
  expect(await all(serviceAccounts.list({ clientOrgId: "o-2" }))).toEqual([]);
  const managed = await serviceAccounts.createAccount(accountId, IMAP);
  expect(await accounts.get(managed.accountId)).toMatchObject({ type: "managed", parentId: accountId });
  expect((await all(accounts.list())).map(({ id }) => id)).toEqual([account.accountId, managed.accountId]);
  await expect(serviceAccounts.createAccount(account.accountId, IMAP)).rejects.toThrow(NotFound);
});

const REQUEST = { serviceType: "Google", returnUrl: "https://app.example.com/back", session: "s-1" };

async function locationOf(url: string): Promise<string> {
  const response = await fetch(url, { redirect: "manual" });
  expect(response.status, await response.text()).toBe(303);
  return response.headers.get("location") ?? "";
}

test("GET /v1/auth/authorizeDaemon, authorizeUser, POST /v1/auth/prepare, GET /v1/auth/token/{code}", async () => {
  const { emulator, application, own } = await startMail();
  const { appId: clientId, appSecret: clientSecret, url: baseUrl } = emulator;
  const oauth = createOAuth({ clientId, clientSecret, baseUrl, clock: emulator.clock });
  const daemon = await oauth.callback(await locationOf(await oauth.authorizeDaemonUrl(REQUEST)), "s-1");
  expect(await all(application.serviceAccounts.list())).toMatchObject([
    { id: daemon.accountId, serviceType: "Google" },
  ]);

  const asUser = { ...REQUEST, accountRole: "primary", userId: "u-1" } as const;
  const signed = await oauth.authorizeUserUrl(asUser);
  const user = await oauth.callback(await locationOf(signed), "s-1");
  expect(user.userId).toBe("u-1");
  expect((await fetch(signed.replace("userId=u-1", "userId=u-2"), { redirect: "manual" })).status).toBe(400);
  const token = await own.prepareAuth();
  const prepared = await oauth.authorizeUserUrl({ ...asUser, userId: undefined, parameters: { token } });
  expect(await locationOf(prepared)).toContain("code=");
  expect((await fetch(prepared.replace(token, "none"), { redirect: "manual" })).status).toBe(400);
  const cookie = prepared.replace("responseType=code", "responseType=cookie");
  const response = await fetch(cookie, { redirect: "manual" });
  expect(response.headers.get("set-cookie")).toMatch(/^AURapp-emulator=session-/);
  expect(response.headers.get("location")).not.toContain("code=");

  const code = new URL(await locationOf(signed)).searchParams.get("code") ?? "";
  const basic = `Basic ${btoa(`${clientId}:${clientSecret}`)}`;
  const exchange = () => call(emulator, `GET /v1/auth/token/${code}`, { headers: { Authorization: basic } });
  expect(await exchange()).toMatchObject({ status: 200, json: { userId: "u-1" } });
  expect(await exchange()).toMatchObject({ status: 400, json: { code: "code.notValid" } });
});

test("a reset forgets accounts that were created, and begins with the first id again", async () => {
  const { emulator, application } = await startMail();
  await application.accounts.create(IMAP);
  await emulator.reset();
  expect(await all(application.accounts.list())).toEqual([]);
  const { accountId } = await emulator.account();
  expect(accountId).toBe(2001);
  const receiver = await startReceiver();
  expect(await emulator.subscribe({ accountId } as never, "/email/messages", receiver.url)).toBe(1001);
});
