import { createReceiver, memoryInbox } from "hookline";
import { createClient } from "hookline/client";
import { nodeReceiver } from "hookline/node";
import { deltaSync, memoryTokens, type DeltaSyncOptions } from "hookline/sync";
import { expect, onTestFinished, test } from "vitest";
import { DAY_MS, serve, startEmulator } from "../emulator/support.ts";

const RESOURCE = "/email/messages";

/** A mailbox at the emulator, and a receiver that mirrors it: the copy changes by notifications alone. */
async function startMirror(given: Partial<DeltaSyncOptions<{ readonly id: string; readonly subject?: string }>> = {}) {
  const emulator = await startEmulator({ pageSize: 2, deltaSync: { readyAfterMs: 12_000, tokenLifeMs: DAY_MS } });
  const account = await emulator.account({ mail: [{ subject: "one" }, { subject: "two" }, { subject: "three" }] });
  const client = createClient({ baseUrl: emulator.url, token: account.token, retry: false, rateLimit: false });
  const receiver = createReceiver({ secret: emulator.secret, inbox: memoryInbox(), clock: emulator.clock, log: false });
  onTestFinished(async () => void (await receiver.close()));
  const copy = new Map<string, string | undefined>();
  deltaSync(receiver, "email", {
    client: () => client,
    tokens: memoryTokens(),
    apply: async (records) => records.forEach(({ id, subject }) => copy.set(id, subject)),
    remove: async (ids) => ids.forEach((id) => copy.delete(id)),
    known: () => copy.keys(),
    ...given,
  });
  await receiver.start();
  const { url } = await serve(nodeReceiver(receiver));
  const subscription = await emulator.subscribe(account, RESOURCE, url);
  return { emulator, account, receiver, copy, client, subscription };
}

async function mailboxOf(client: ReturnType<typeof createClient>): Promise<Map<string, string | undefined>> {
  const messages = new Map<string, string | undefined>();
  for await (const { id, subject } of client.messages.list({ includeTrashAndJunk: true })) messages.set(id, subject);
  return messages;
}

test("the first notification waits until the service is ready, and brings the whole mailbox", async () => {
  const { emulator, account, receiver, copy, client } = await startMirror();
  await account.receiveMail({ subject: "four" });
  await emulator.settled();
  await receiver.idle();
  expect(copy.size).toBe(0);
  expect(receiver.stats()).toMatchObject({ failed: 0 });

  await emulator.advance(60_000);
  await receiver.idle();
  expect(copy).toEqual(await mailboxOf(client));
  expect(new Set(copy.values())).toEqual(new Set(["one", "two", "three", "four"]));
  // A handler that asks to come later has not failed.
  expect(receiver.stats()).toMatchObject({ failed: 0, dead: 0 });
});

test("changes are applied whatever happens to their deliveries, and however often `apply` fails", async () => {
  let calls = 0;
  const { emulator, account, receiver, copy, client, subscription } = await startMirror();
  const set = copy.set.bind(copy);
  copy.set = (id, subject) => {
    calls += 1;
    if (calls % 3 === 0) throw new Error("the database is down");
    return set(id, subject);
  };
  const ids = [...(await mailboxOf(client)).keys()];
  for (const fault of ["duplicate", "reorder", "merge", "lose-answer", "wrong-signature"] as const) {
    emulator.fault(subscription, fault);
    ids.push((await account.receiveMail({ subject: fault })).id);
    await account.update(RESOURCE, ids[0] ?? "", { subject: `during ${fault}` });
    await account.remove(RESOURCE, ids.splice(1, 1)[0] ?? "");
    await emulator.advance(60_000);
  }
  emulator.fault(subscription, undefined);
  await emulator.advance(2 * 3_600_000);
  await receiver.idle();
  expect(copy).toEqual(await mailboxOf(client));
  expect(receiver.stats()).toMatchObject({ dead: 0 });
  expect((await receiver.health()).problems).toEqual([]);
});

test("an account that the service refuses is a problem, and its changes are applied after it is authorised again", async () => {
  const { emulator, account, receiver, copy, client } = await startMirror();
  await emulator.advance(60_000);
  await account.receiveMail({ subject: "seen" });
  await account.expireCredentials();
  await emulator.advance(60_000);
  const codes = async () => (await receiver.health()).problems.map(({ code }) => code);
  expect(await codes()).toContain("account-unauthorized");

  await account.restoreCredentials();
  await emulator.advance(3_600_000);
  await receiver.idle();
  expect(copy).toEqual(await mailboxOf(client));
  expect(await codes()).not.toContain("account-unauthorized");
});
