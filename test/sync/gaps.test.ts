import { createReceiver, type Receiver } from "hookline";
import { createClient } from "hookline/client";
import { nodeReceiver } from "hookline/node";
import { sqliteInbox } from "hookline/sqlite";
import { deltaSync, sqliteTokens } from "hookline/sync";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { DAY_MS, startEmulator } from "../emulator/support.ts";
import { eventually } from "../support/eventually.ts";
import { fastTmpdir } from "../support/fast-tmpdir.ts";

/** A port that stays the same while processes come and go. */
async function startServer(receiver: () => Receiver | undefined): Promise<string> {
  const server: Server = createServer((request, response) => {
    const now = receiver();
    if (now === undefined) request.socket.destroy();
    else nodeReceiver(now)(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test("a receiver that was down for two days, in which the service gave up: the copy equals the mailbox afterwards", async () => {
  const emulator = await startEmulator({
    redelivery: { giveUpAfter: 12 },
    deltaSync: { readyAfterMs: 0, tokenLifeMs: 30 * DAY_MS },
  });
  const account = await emulator.account({
    mail: [{ subject: "one" }, { subject: "two" }],
  });
  const client = createClient({ baseUrl: emulator.url, token: account.token, retry: false, rateLimit: false });
  const folder = mkdtempSync(join(fastTmpdir(), "hookline-gap-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const mail = new Map<string, string | undefined>();
  const events = new Map<string, string | undefined>();
  let running: Receiver | undefined;

  async function start(): Promise<void> {
    const inbox = sqliteInbox(join(folder, "inbox.db"), { minFreeDiskBytes: 0 });
    const receiver = createReceiver({ secret: emulator.secret, inbox, clock: emulator.clock, log: false });
    const tokens = sqliteTokens(receiver);
    const copyInto = (copy: Map<string, string | undefined>) => ({
      client: () => client,
      tokens,
      apply: async (records: readonly { readonly id: string; readonly subject?: string }[]) =>
        records.forEach(({ id, subject }) => copy.set(id, subject)),
      remove: async (ids: readonly string[]) => ids.forEach((id) => copy.delete(id)),
      known: () => copy.keys(),
    });
    deltaSync(receiver, "email", copyInto(mail));
    deltaSync(receiver, "calendarEvent", copyInto(events));
    await receiver.start();
    running = receiver;
  }
  const stop = async (): Promise<void> => {
    const receiver = running;
    running = undefined;
    await receiver?.close({ drainMs: 0 });
  };
  onTestFinished(stop);
  const mailbox = async (): Promise<Map<string, string | undefined>> => {
    const all = new Map<string, string | undefined>();
    for await (const { id, subject } of client.messages.list()) all.set(id, subject);
    return all;
  };

  const url = await startServer(() => running);
  await start();
  for (const resource of ["/email/messages", "/calendars/primary/events"])
    await emulator.subscribe(account, resource, url);
  await account.receiveMail({ subject: "three" });
  await account.addEvent({ subject: "a meeting" });
  await account.addEvent({ subject: "another" });
  await emulator.settled();
  await eventually(async () => expect(mail).toEqual(await mailbox()));
  await eventually(() => expect([...events.values()]).toEqual(["a meeting", "another"]));

  await stop();
  await account.receiveMail({ subject: "while it was down" });
  const [first] = mail.keys();
  await account.remove("/email/messages", String(first));
  await account.addEvent({ subject: "a third" });
  await emulator.advance(2 * DAY_MS);
  expect(emulator.journal.filter(({ outcome }) => outcome === "given-up")).toHaveLength(3);

  await start();
  const { attempts } = emulator;
  await eventually(async () => {
    await emulator.advance(1_000); // on a busy machine the gap is found late
    expect(mail).toEqual(await mailbox());
  });
  await eventually(() => expect(new Set(events.values())).toEqual(new Set(["a meeting", "another", "a third"])));
  // It was the gap that brought it: the service sent nothing any more.
  expect(emulator.attempts).toBe(attempts);
});
