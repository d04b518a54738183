import { createReceiver, RetryLater, type Receiver } from "hookline";
import { createClient } from "hookline/client";
import { postgresInbox } from "hookline/postgres";
import { deltaSync, memoryTokens, type DeltaSyncOptions, type ResourceSync, type SyncFamily } from "hookline/sync";
import { expect, onTestFinished, test } from "vitest";
import { startEmulator } from "../emulator/support.ts";
import { newDatabase } from "../support/postgres.ts";

interface Replica {
  readonly receiver: Receiver;
  readonly sync: ResourceSync;
}

/** Some processes that work on one database, and keep one copy. */
async function startReplicas(
  count: number,
  given: Partial<DeltaSyncOptions<unknown>> = {},
  family: SyncFamily = "email",
) {
  const emulator = await startEmulator({ pageSize: 2, deltaSync: { readyAfterMs: 0 } });
  const records = Array.from({ length: 9 }, (_, nth) => ({ subject: `m-${nth}` }));
  const account = await emulator.account({ mail: records, contacts: records, tasks: records });
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
    const sync = deltaSync<SyncFamily>(receiver, family, {
      client: () => client,
      tokens,
      async apply(applied: readonly { readonly id: string; readonly subject?: unknown }[]) {
        most = Math.max(most, (now += 1));
        // Long enough for another process to come in between.
        await new Promise((resolve) => setTimeout(resolve, 20));
        for (const { id, subject } of applied) copy.set(id, subject as string | undefined);
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

test.each<SyncFamily>(["email", "contact", "task"])(
  "runs of %s in several processes at once are one after the other: each copy of a page is whole before the next",
  async (family) => {
    const { account, replicas, copy, most } = await startReplicas(3, {}, family);
    await Promise.all([...replicas, ...replicas].map(({ sync }) => sync.run(account.accountId)));
    expect(copy.size).toBe(9);
    expect(most()).toBe(1);

    if (family === "email") await account.receiveMail();
    else await (family === "contact" ? account.addContact() : account.addTask());
    await replicas[1]?.sync.run(account.accountId);
    expect(copy.size).toBe(10);
  },
);

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
