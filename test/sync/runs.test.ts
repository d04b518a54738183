import { createReceiver, forwardInbox, memoryInbox, type UsageError } from "hookline";
import { createClient, type Client } from "hookline/client";
import { sqliteInbox } from "hookline/sqlite";
import { deltaSync, memoryTokens, sqliteTokens, type DeltaSyncOptions } from "hookline/sync";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { folderFor } from "../adapters/inbox/on-disk.ts";
import { startService, type Answer, type Recorded } from "../client/support.ts";
import { deferred, turns } from "../support/event-loop.ts";
import { eventually } from "../support/eventually.ts";
import { rig } from "../support/rig.ts";

const READY = { syncUpdatedToken: "u0", syncDeletedToken: "d0", ready: true };

/** A service of which a test says how it answers; by default a mailbox that has nothing. */
async function startSyncService(answerOf: (request: Recorded, nth: number) => Answer | undefined = () => undefined) {
  const service = await startService((request, nth) => {
    const usual = request.method === "POST" ? READY : { records: [], nextDeltaToken: "next" };
    return answerOf(request, nth) ?? { json: usual };
  });
  const client = createClient({ baseUrl: service.url, token: "t", retry: false, rateLimit: false });
  return { ...service, client };
}

function optionsOf(client: Client, given: Partial<DeltaSyncOptions<unknown>> = {}): DeltaSyncOptions<unknown> {
  return { client: () => client, tokens: memoryTokens(), apply: async () => {}, remove: async () => {}, ...given };
}

async function errorOf(promise: Promise<unknown>): Promise<UsageError> {
  return promise.then(
    () => expect.unreachable(),
    (error: unknown) => error as UsageError,
  );
}

function start(client: Client, given?: Partial<DeltaSyncOptions<unknown>>) {
  const { receiver, clock } = rig({ gaps: false });
  return { receiver, clock, sync: deltaSync(receiver, "email", optionsOf(client, given)) };
}

test("an account that is erased while its records are applied leaves no token", async () => {
  const { client } = await startSyncService(({ path }) =>
    path.endsWith("/updated") ? { json: { records: [{ id: "m" }], nextDeltaToken: "next" } } : undefined,
  );
  const kept = new Map<string, string>();
  const tokens = {
    get: async (key: string) => kept.get(key),
    set: async (key: string, token: string) => void kept.set(key, token),
  };
  let applied = 0;
  const own = rig({ gaps: false });
  deltaSync(own.receiver, "email", {
    ...optionsOf(client, { tokens }),
    async apply() {
      await own.receiver.jobs.erase(2002);
      kept.clear(); // what a store of the inbox does
      applied += 1;
    },
  });
  await own.receiver.start();
  await own.send();
  await own.receiver.idle();
  expect(applied).toBe(1);
  expect([...kept]).toEqual([]);
});

describe("run()", () => {
  test("is refused where this process does not work, with what to do", async () => {
    const { client } = await startSyncService();
    const { receiver, sync } = start(client);
    expect(await errorOf(sync.run(2002))).toMatchObject({
      code: "sync-not-working",
      fix: expect.stringMatching(/after `receiver\.start\(\)`/),
    });
    await receiver.start();
    await sync.run(2002);
    await receiver.close();
    expect(await errorOf(sync.run(2002))).toMatchObject({ code: "closed" });
  });

  test("stops before the next page when the receiver closes", async () => {
    const { client, requests } = await startSyncService(({ path }) =>
      path.endsWith("/updated") ? { json: { records: [{ id: "m" }], nextPageToken: `p${Math.random()}` } } : undefined,
    );
    const { receiver, sync } = start(client, {
      async apply() {
        if (requests.length > 3) await receiver.close();
      },
    });
    await receiver.start();
    expect(await errorOf(sync.run(2002))).toMatchObject({ code: "closed" });
    expect(requests).toHaveLength(4);
  });

  test("works beside a queue of one's own, where nothing can start", async () => {
    const { client, requests } = await startSyncService();
    const receiver = createReceiver({ secret: "s", inbox: forwardInbox(async () => {}), log: false });
    await deltaSync(receiver, "email", optionsOf(client)).run(2002);
    expect(requests).toHaveLength(3);
  });

  test("waits while the service prepares the sync, ten minutes at most", async () => {
    let isReady = false;
    const { client, requests } = await startSyncService(({ method }) =>
      method === "POST" && !isReady
        ? { json: { syncUpdatedToken: "", syncDeletedToken: "", ready: false } }
        : undefined,
    );
    const { receiver, sync, clock } = start(client);
    await receiver.start();
    const pass = async (): Promise<void> => {
      await eventually(() => expect(clock.waiting).toBeGreaterThan(0));
      await clock.advance(5_000);
    };
    const running = sync.run(2002);
    await eventually(() => expect(clock.waiting).toBeGreaterThan(0));
    isReady = true;
    await pass();
    await running;
    expect(requests.filter(({ method }) => method === "POST")).toHaveLength(2);

    isReady = false;
    const late = errorOf(sync.run(2003));
    for (let nth = 0; nth < 120; nth += 1) await pass();
    expect(await late).toMatchObject({ code: "retry-later" });
    expect(requests.filter(({ method }) => method === "POST")).toHaveLength(2 + 121);
  });

  test("of one resource come one after the other, of two beside each other", async () => {
    const { client } = await startSyncService(({ path }) =>
      path.endsWith("/updated") ? { json: { records: [{ id: "m" }], nextDeltaToken: "next" } } : undefined,
    );
    const running: number[] = [];
    const calls: number[] = [];
    const released = deferred();
    const { receiver, sync } = start(client, {
      async apply(_, { accountId }) {
        expect(running).not.toContain(accountId);
        running.push(accountId);
        calls.push(accountId);
        await released.promise;
        running.splice(running.indexOf(accountId), 1);
      },
    });
    await receiver.start();
    const runs = Promise.all([sync.run(2002), sync.run(2002), sync.run(2003)]);
    await eventually(() => expect(new Set(running)).toEqual(new Set([2002, 2003])));
    released.resolve();
    await runs;
    expect(calls).toHaveLength(3);
  });

  test("that comes while a second one has begun after a first waits for that one", async () => {
    const { client } = await startSyncService(({ path }) =>
      path.endsWith("/updated") ? { json: { records: [{ id: "m" }], nextDeltaToken: "next" } } : undefined,
    );
    const calls: ReturnType<typeof deferred<void>>[] = [];
    const { receiver, sync } = start(client, {
      async apply() {
        const call = deferred();
        calls.push(call);
        await call.promise;
      },
    });
    await receiver.start();
    const [first, second] = [sync.run(2002), sync.run(2002)];
    await eventually(() => expect(calls).toHaveLength(1));
    calls[0]?.resolve();
    await first;
    await eventually(() => expect(calls).toHaveLength(2));
    const third = sync.run(2002);
    await turns(50);
    expect(calls).toHaveLength(2);
    calls[1]?.resolve();
    await second;
    await eventually(() => expect(calls).toHaveLength(3));
    calls[2]?.resolve();
    await third;
  });

  test("is refused for a resource of another family, or no account", async () => {
    const { client } = await startSyncService();
    const { receiver, sync } = start(client);
    await receiver.start();
    for (const resource of ["/calendars/primary/events", "/contacts", "messages"])
      expect(await errorOf(sync.run(2002, resource))).toMatchObject({ code: "option-invalid" });
    expect(await errorOf(sync.run("2002" as never))).toMatchObject({ code: "option-invalid" });
  });
});

describe("a walk", () => {
  test("ends with an error where the service gives the token of a page on that page", async () => {
    const { client } = await startSyncService(({ path }) =>
      path.endsWith("/updated") ? { json: { records: [], nextPageToken: "again" } } : undefined,
    );
    const { receiver, sync } = start(client);
    await receiver.start();
    expect(await errorOf(sync.run(2002))).toMatchObject({ code: "page-repeated" });
  });

  test("begins at the same token again where its last page had none", async () => {
    const { client, requests } = await startSyncService(({ path }) =>
      path.endsWith("/updated") ? { json: { records: [{ id: "m" }] } } : undefined,
    );
    const applied: unknown[] = [];
    const { receiver, sync } = start(client, { apply: async (records) => applied.push(...records) });
    await receiver.start();
    await sync.run(2002);
    await sync.run(2002);
    const tokens = requests.filter(({ path }) => path.endsWith("/updated")).map(({ query }) => query);
    expect(tokens).toEqual([[["deltaToken", "u0"]], [["deltaToken", "u0"]]]);
    expect(applied).toHaveLength(2);
  });

  test("tells `apply` and `remove` what the store is given after them", async () => {
    const { client } = await startSyncService(({ path, query }) =>
      path.endsWith("/sync")
        ? undefined
        : query[0]?.[1] === "second"
          ? { json: { records: [{ id: "b" }], nextDeltaToken: "next" } }
          : { json: { records: [{ id: "a" }], nextPageToken: "second" } },
    );
    const told: unknown[] = [];
    const saved: unknown[] = [];
    const store = memoryTokens();
    const { receiver, sync } = start(client, {
      tokens: {
        get: store.get,
        async set(key, token) {
          saved.push({ key, token });
          await store.set(key, token);
        },
      },
      apply: async (_, { saves }) => void told.push(saves),
      remove: async (_, { saves }) => void told.push(saves),
    });
    await receiver.start();
    await sync.run(2002);
    expect(told).toHaveLength(4);
    // Before them are the two of the start.
    expect(saved.slice(2)).toEqual(told);
  });

  test("asks the service for the window in days, or for the times of a calendar", async () => {
    const { client, requests } = await startSyncService();
    const { receiver, sync, clock } = start(client, { window: { daysPast: 7 } });
    const events = deltaSync(receiver, "calendarEvent", optionsOf(client, { window: { daysPast: 1, daysAhead: 2 } }));
    await receiver.start();
    await sync.run(2002);
    await events.run(2002, "/calendars/team%20a/events");
    const starts = requests.filter(({ method }) => method === "POST");
    const at = (days: number): string => new Date(clock.now() + days * 86_400_000).toISOString();
    expect(starts.map(({ path, query }) => [path, query])).toEqual([
      ["/v1/email/sync", [["daysWithin", "7"]]],
      [
        "/v1/calendars/team%20a/sync",
        [
          ["timeMin", at(-1)],
          ["timeMax", at(2)],
        ],
      ],
    ]);
  });
});

test.each([
  ["contact", undefined, "/v1/contacts/sync"],
  ["task", undefined, "/v1/tasklists/default/sync"],
  ["task", "/tasklists/list%20a/tasks", "/v1/tasklists/list%20a/sync"],
] as const)("a %s sync of %s walks %s, whole", async (family, resource, path) => {
  const { client, requests } = await startSyncService();
  const { receiver } = rig({ gaps: false });
  const sync = deltaSync(receiver, family, optionsOf(client));
  await receiver.start();
  await sync.run(2002, resource);
  expect(requests.map((request) => [request.method, request.path, request.query])).toEqual([
    ["POST", path, []],
    ["GET", `${path}/updated`, [["deltaToken", "u0"]]],
    ["GET", `${path}/deleted`, [["deltaToken", "d0"]]],
  ]);
  expect(await errorOf(sync.run(2002, "/email/messages"))).toMatchObject({ code: "option-invalid" });
});

describe("deltaSync refuses", () => {
  test.each([
    [{ apply: undefined }, /apply/],
    [{ remove: "x" }, /remove/],
    [{ client: {} }, /client/],
    [{ known: [] }, /known/],
    [{ tokens: undefined }, /tokens\.get/],
    [{ windows: {} }, /Did you mean "window"/],
    [{ window: {} }, /window\.daysPast/],
    [{ window: { daysPast: 1.5 } }, /window\.daysPast/],
    [{ window: { daysPast: 1, daysAhead: 2 } }, /only calendars/],
  ])("%o", async (given, message) => {
    const { client } = await startSyncService();
    expect(() => deltaSync(rig().receiver, "email", optionsOf(client, given as never))).toThrow(message);
  });

  test("another family, and says which there are", async () => {
    const { client } = await startSyncService();
    for (const family of ["tracking", "toString"])
      expect(() => deltaSync(rig().receiver, family as never, optionsOf(client))).toThrow(
        /one of email, calendarEvent, contact, task/,
      );
  });

  test.each(["contact", "task"] as const)("a window of a %s sync", async (family) => {
    const { client } = await startSyncService();
    const options = optionsOf(client, { window: { daysPast: 7 } });
    expect(() => deltaSync(rig().receiver, family, options)).toThrow(/only messages and calendars/);
  });

  test("a store that gives something else than texts", async () => {
    const { client } = await startSyncService();
    const { receiver, sync } = start(client, { tokens: { get: async () => ({}) as never, set: async () => {} } });
    await receiver.start();
    expect(await errorOf(sync.run(2002))).toMatchObject({ code: "tokens-invalid", message: /an object/ });
  });
});

describe("sqliteTokens", () => {
  test("are in the file of the inbox, and there after a restart", async () => {
    const { client, requests } = await startSyncService();
    const file = join(folderFor(), "inbox.db");
    for (const starts of [1, 1]) {
      const receiver = createReceiver({ secret: "s", inbox: sqliteInbox(file), log: false });
      onTestFinished(async () => void (await receiver.close()));
      const tokens = sqliteTokens(receiver);
      const sync = deltaSync(receiver, "email", optionsOf(client, { tokens }));
      await receiver.start();
      await sync.run(2002);
      expect(requests.filter(({ method }) => method === "POST")).toHaveLength(starts);
      await tokens.set("another", "text");
      await tokens.set("another", undefined);
      expect(await tokens.get("another")).toBeUndefined();
      await receiver.close();
    }
  });

  test("are erased with their account, and no other's", async () => {
    const receiver = createReceiver({ secret: "s", inbox: sqliteInbox(join(folderFor(), "inbox.db")), log: false });
    onTestFinished(async () => void (await receiver.close()));
    const tokens = sqliteTokens(receiver);
    await receiver.start();
    const keys = ["2002 /email/messages updated", "20021 /email/messages updated", "2002x"];
    for (const key of keys) await tokens.set(key, "text");
    await receiver.jobs.erase(2002);
    expect(await Promise.all(keys.map((key) => tokens.get(key)))).toEqual([undefined, "text", "text"]);
  });

  test("can be set by the process that works alone", async () => {
    const file = join(folderFor(), "inbox.db");
    const receiver = createReceiver({ secret: "s", inbox: sqliteInbox(file), log: false });
    onTestFinished(async () => void (await receiver.close()));
    const tokens = sqliteTokens(receiver);
    expect(await tokens.get("a")).toBeUndefined();
    expect(await errorOf(tokens.set("a", "b"))).toMatchObject({ code: "epoch-stale" });
  });

  test("refuse a token that is no text", async () => {
    const receiver = createReceiver({ secret: "s", inbox: sqliteInbox(join(folderFor(), "inbox.db")), log: false });
    onTestFinished(async () => void (await receiver.close()));
    await receiver.start();
    for (const tokens of [sqliteTokens(receiver), memoryTokens()])
      expect(await errorOf(tokens.set("a", Promise.resolve("token") as never))).toMatchObject({
        name: "UsageError",
        code: "tokens-invalid",
        message: /a promise.*expected a text or undefined/,
      });
  });

  test("need sqliteInbox", () => {
    const receiver = createReceiver({ secret: "s", inbox: memoryInbox(), log: false });
    expect(() => sqliteTokens(receiver)).toThrow(expect.objectContaining({ code: "tokens-unavailable" }));
  });
});
