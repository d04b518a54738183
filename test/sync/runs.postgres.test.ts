import { createReceiver, RetryLater, type Receiver } from "hookline";
import { createClient } from "hookline/client";
import { postgresInbox } from "hookline/postgres";
import { deltaSync, memoryTokens, type DeltaSyncOptions, type ResourceSync } from "hookline/sync";
import { expect, onTestFinished, test } from "vitest";
import { startEmulator } from "../emulator/support.ts";
import { newDatabase } from "../support/postgres.ts";

interface Replica {
  readonly receiver: Receiver;
  readonly sync: ResourceSync;
}

/** Some processes that work on one database, and keep one copy. */
async function startReplicas(count: number, given: Partial<DeltaSyncOptions<unknown>> = {}) {
  const emulator = await startEmulator({ pageSize: 2, deltaSync: { readyAfterMs: 0 } });
  const account = await emulator.account({ mail: Array.from({ length: 9 }, (_, nth) => ({ subject: `m-${nth}` })) });
  const client = createClient({ baseUrl: emulator.url, token: account.token, retry: false, rateLimit: false });
  const database = await newDatabase();
  const tokens = memoryTokens();
  const copy = new Map<string, string | undefined>();
  let [now, most] = [0, 0];

  async function start(): Promise<Replica> {
    const receiver = createReceiver({
      secret: "s",
      inbox: postgresInbox({ connectionString: database.connectionString }),
      log: false,
    });
    const sync = deltaSync(receiver, "email", {
      client: () => client,
      tokens,
      async apply(records) {
        most = Math.max(most, (now += 1));
        // Long enough for another process to come in between.
        await new Promise((resolve) => setTimeout(resolve, 20));
        for (const { id, subject } of records) copy.set(id, subject);
        now -= 1;
      },
      remove: async (ids) => ids.forEach((id) => copy.delete(id)),
      ...given,
    });
    await receiver.start();
    return { receiver, sync };
  }

  const replicas = await Promise.all(Array.from({ length: count }, start));
  onTestFinished(async () => {
    await Promise.all(replicas.map(({ receiver }) => receiver.close({ drainMs: 1_000 })));
    await database.drop();
  });
  return { account, replicas, copy, most: () => most };
}

test("runs in several processes at once are one after the other: each copy of a page is whole before the next", async () => {
  const { account, replicas, copy, most } = await startReplicas(3);
  await Promise.all([...replicas, ...replicas].map(({ sync }) => sync.run(account.accountId)));
  expect(copy.size).toBe(9);
  expect(most()).toBe(1);

  await account.receiveMail({ subject: "later" });
  await replicas[1]?.sync.run(account.accountId);
  expect(copy.size).toBe(10);
});

test("a run rejects with what the process that ran it met, and the job is tried again", async () => {
  let isBroken = true;
  const { account, replicas } = await startReplicas(2, {
    apply: async () => {
      if (isBroken) throw new Error("the database of the copy is down");
    },
  });
  const [first, second] = replicas as [Replica, Replica];
  await expect(first.sync.run(account.accountId)).rejects.toMatchObject({
    code: "sync-failed",
    message: expect.stringContaining("the database of the copy is down"),
  });
  isBroken = false;
  await second.sync.run(account.accountId);
  expect((await first.receiver.health()).problems).toEqual([]);
});

test("a run waits for a handler that asks for more time", async () => {
  let isBusy = true;
  const { account, replicas, copy } = await startReplicas(1, {
    async apply(records) {
      if (isBusy) {
        isBusy = false;
        throw new RetryLater({ afterMs: 1_000 });
      }
      for (const { id } of records as readonly { readonly id: string }[]) copy.set(id, undefined);
    },
  });
  await replicas[0]?.sync.run(account.accountId);
  expect(copy.size).toBe(9);
});

test("a resource of another family is refused at once", async () => {
  const { account, replicas } = await startReplicas(1);
  await expect(replicas[0]?.sync.run(account.accountId, "/contacts")).rejects.toMatchObject({ code: "option-invalid" });
});
