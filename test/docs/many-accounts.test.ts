import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createReceiver, memoryInbox } from "hookline";
import { clients } from "hookline/client";
import { createEmulator } from "hookline/emulator";
import { nodeReceiver } from "hookline/node";
import { planSubscriptions } from "hookline/subscriptions";
import { deltaSync, memoryTokens } from "hookline/sync";
import { expect, onTestFinished, test } from "vitest";
import { pageOf } from "./pages.ts";

const page = pageOf("docs/deploy/many-accounts.md").text;

/** The number in the second column of a row. */
const saidOf = (row: string): number => Number(new RegExp(`^\\| ${row}[^|]*\\| (\\d+)`, "m").exec(page)?.[1]);

test("many accounts: requests for one account are as many as the page says", async () => {
  const emulator = await createEmulator();
  const account = await emulator.account();
  await account.receiveMail();
  const receiver = createReceiver({ secret: emulator.secret, inbox: memoryInbox(), log: false });
  const server = createServer(nodeReceiver(receiver)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.close();
    await receiver.close();
    await emulator.close();
  });
  let count = 0;
  const client = clients(() => ({
    baseUrl: emulator.url,
    token: account.token,
    fetch: (input, init) => {
      count += 1;
      return fetch(input, init);
    },
  }));
  const counted = async <T>(work: () => Promise<T>): Promise<[number, T]> => {
    count = 0;
    const result = await work();
    return [count, result];
  };
  const sync = deltaSync(receiver, "email", {
    client,
    tokens: memoryTokens(),
    apply: async () => {},
    remove: async () => {},
  });
  await receiver.start();

  const { port } = server.address() as AddressInfo;
  const notificationUrl = `http://127.0.0.1:${port}/`;
  const desired = ["/email/messages", "/calendars/primary/events"].map((resource) => ({
    accountId: account.accountId,
    resource,
    notificationUrl,
  }));
  const [planned, plan] = await counted(() => planSubscriptions(desired, { client, receiver }));
  expect(planned).toBe(saidOf("`planSubscriptions`"));
  const [applied] = await counted(() => plan.apply());
  expect(applied).toBe(desired.length * saidOf("`apply\\(\\)`"));
  const [first] = await counted(() => sync.run(account.accountId));
  expect(first).toBe(saidOf("the first `sync.run` of a mailbox"));
  const [later] = await counted(() => sync.run(account.accountId));
  expect(later).toBe(saidOf("a later `sync.run`, when"));
});

test("many accounts: the times are requests, latency and how many run at once", () => {
  const rows = [...page.matchAll(/^\| [^|]+\| (\d+)(?: accounts|, by you) +\| (\d+) minutes? +\|/gm)].map(
    ([, atOnce, minutes]) => [Number(atOnce), Number(minutes)] as const,
  );
  const requests = [1, 4, 1, 3, 2];
  expect(rows).toHaveLength(requests.length);
  for (const [index, [atOnce, minutes]] of rows.entries())
    expect(minutes).toBe(Math.round(((requests[index] ?? 0) * 10_000 * 0.2) / atOnce / 60));
});
