import { expect, onTestFinished, test } from "vitest";
import type { JobOutcome } from "hookline/adapter";
import { mail, nobodys, notice, type FullDelivery } from "../../suites/inbox/deliveries.ts";
import { claimAll, claimOne, done, recordsOf, settleAll, storeAll } from "../../suites/inbox/verbs.ts";
import { lockTables } from "../../support/postgres/lock-tables.ts";
import { openProcesses } from "./postgres-processes.ts";

test("looks at jobs that wait for a lock fail alone: handlers and tombstones do not wait for them", async () => {
  const processes = await openProcesses();
  const [{ inbox: other }, { inbox }] = [await processes.start(), await processes.start()];
  await other.tombstones.put({ subscription: 7, source: undefined, reason: "gone" });
  await processes.passing(() => expect(inbox.tombstones.find(7, undefined)).toBeDefined());
  await other.close();
  await storeAll(inbox, mail(["a"]));
  await lockTables(processes.sql, "dead", "ended_count");
  let waiting = 0;
  const looks = [
    () => inbox.jobs.find({ states: ["dead"], limit: 10 }),
    () => inbox.jobs.get("1"),
    async () => inbox.jobs.summary?.({ states: ["dead"] }),
    () => inbox.jobs.find({ limit: 10 }),
  ].map(async (look) => {
    waiting += 1;
    return look().finally(() => (waiting -= 1));
  });
  const ended = Promise.allSettled(looks);
  await processes.rows("delete from hookline.tombstone");
  await processes.rows("update hookline.meta set value = value::bigint + 1 where key = 'tombstones'");
  await processes.passing(() => expect(inbox.tombstones.find(7, undefined)).toBeUndefined());
  await processes.passing(async () => settleAll(inbox, await claimOne(inbox), done));
  expect(waiting).toBeGreaterThan(0);
  for (const look of await ended)
    expect(look).toMatchObject({ status: "rejected", reason: { message: expect.stringContaining("lock timeout") } });
});

test("while all looks wait, what was known of tombstones before answers no 422: one may have been lifted", async () => {
  const processes = await openProcesses();
  const [{ inbox: other }, { inbox }] = [await processes.start(), await processes.start({ leaseMs: 60_000 })];
  await other.tombstones.put({ subscription: 7, source: undefined, reason: "gone" });
  await processes.passing(() => expect(inbox.tombstones.find(7, undefined)).toBeDefined());
  await other.close();
  const release = await lockTables(processes.sql, "worker");
  let waiting = 0;
  const looks = Array.from({ length: 4 }, async () => {
    waiting += 1;
    await inbox.liveWorkers?.().finally(() => (waiting -= 1));
  });
  const ended = Promise.allSettled(looks);
  await processes.passing(() => expect(inbox.tombstones.find(7, undefined)).toBeUndefined());
  expect(waiting).toBe(4);
  await release();
  await ended;
});

test("gaps, sync tokens and what is written for people fail alone where they wait for a lock: handlers do not wait for them", async () => {
  const processes = await openProcesses();
  const { inbox } = await processes.start();
  await storeAll(inbox, mail(["a"]));
  await inbox.gaps?.mark({ at: 1, afterMs: 1 });
  await lockTables(processes.sql, "subscribed_resource", "key_value", "tombstone", "subscription", "pause");
  const errored = { subscription: 7, accountId: 7, resource: "/email/messages", error: "" };
  let waiting = 0;
  const asked = [
    async () => inbox.gaps?.seen([{ ...errored, source: undefined, family: "email" }], 1),
    async () => inbox.gaps?.mark({ at: 3, afterMs: 1 }),
    async () => inbox.gaps?.count(),
    async () => inbox.keyValues?.get("a"),
    async () => inbox.keyValues?.set("a", "b", 7),
    () => inbox.tombstones.put({ subscription: 7, source: undefined, reason: "gone" }),
    () => inbox.subscriptions.record(errored, { source: undefined, sentAt: 1 }),
    () => inbox.subscriptions.forget(7, undefined),
    () => inbox.subscriptions.known(),
    async () => inbox.pauses?.put({ consumer: undefined, accountId: 7, reason: "no", since: 1, until: undefined }),
  ].map(async (ask) => {
    waiting += 1;
    return ask().finally(() => (waiting -= 1));
  });
  const ended = Promise.allSettled(asked);
  await processes.passing(async () => settleAll(inbox, await claimOne(inbox), done));
  await storeAll(inbox, mail(["b"]));
  await processes.passing(async () => settleAll(inbox, await claimOne(inbox), done));
  expect(waiting).toBeGreaterThan(asked.length / 2);
  for (const one of await ended)
    expect(one).toMatchObject({ status: "rejected", reason: { message: expect.stringContaining("lock timeout") } });
});

test("unsubscribes that wait for their count fail, and hold up neither handlers nor each other", async () => {
  const processes = await openProcesses();
  const { inbox } = await processes.start();
  const ask = (subscription: number) => inbox.allowUnsubscribe!({ subscription, source: undefined, maxPerHour: 90 });
  expect(await ask(1)).toBe(true);
  await storeAll(inbox, mail(["a"]));
  const holder = await processes.sql.connect();
  onTestFinished(() => holder.release(true));
  await holder.query("begin; select from hookline.meta where key = 'unsubscribes' for update");
  const asked = Promise.allSettled(Array.from({ length: 60 }, (_, subscription) => ask(subscription)));
  await processes.passing(async () => settleAll(inbox, await claimOne(inbox), done));
  for (const one of await asked)
    expect(one).toMatchObject({ status: "rejected", reason: { message: expect.stringContaining("lock timeout") } });
  await holder.query("rollback");
  expect(await ask(2)).toBe(true);
});

test.each<[what: string, table: string, blocked: FullDelivery]>([
  ["a lifecycle notice", "subscription", notice("no")],
  ["an unhandled event", "ended_count", mail([nobodys("x")])],
  ["a delivery of a queue", "dedupe", { ...mail(["x"]), idInQueue: "m-1" }],
])("%s that waits for a lock on %s is refused alone, and holds up no later delivery", async (_, table, blocked) => {
  const processes = await openProcesses();
  const { inbox } = await processes.start();
  const release = await lockTables(processes.sql, table);
  const results = await inbox.store([mail(["a"]), blocked, mail(["b"])]);
  expect(results).toMatchObject([
    { expanded: true },
    { message: expect.stringContaining("lock timeout") },
    { expanded: true },
  ]);
  expect(inbox.ready()).toEqual({ ready: true });
  const waiting = inbox.store([blocked]);
  await storeAll(inbox, mail(["c"]));
  expect(await waiting).toEqual([expect.any(Error)]);
  expect(recordsOf(await claimAll(inbox))).toEqual([["a"], ["b"], ["c"]]);
  const [refused] = await inbox.store([blocked, mail(["d"])]);
  expect(await inbox.store([blocked])).toEqual([expect.toSatisfy((again) => again === refused)]); // nobody waited for the lock again
  await release();
  await processes.passing(async () => void (await storeAll(inbox, blocked)));
});

test("an event without a handler that comes alone and waits for a lock is noted as well: the next ones do not wait again", async () => {
  const processes = await openProcesses();
  const { inbox } = await processes.start();
  await lockTables(processes.sql, "unhandled");
  const [refused] = await inbox.store([mail([nobodys("x")])]);
  expect(refused).toMatchObject({ message: expect.stringContaining("lock timeout") });
  expect(await inbox.store([mail([nobodys("y")]), mail(["a"])])).toEqual([
    expect.toSatisfy((again) => again === refused),
    expect.objectContaining({ expanded: true }),
  ]);
  expect(inbox.ready()).toEqual({ ready: true });
});

test("a lock on a table that all deliveries need is forgotten when it ends, whatever waited for it", async () => {
  const processes = await openProcesses();
  const { inbox } = await processes.start();
  const release = await lockTables(processes.sql, "job");
  const blocked = [mail([nobodys("x"), "a"])];
  expect(await inbox.store(blocked)).toMatchObject([{ message: expect.stringContaining("lock timeout") }]);
  await release();
  expect(await inbox.store(blocked)).toMatchObject([{ expanded: true }]);
});

test("a delivery of a queue that waits for the row of its own id is refused alone: those that come next are stored", async () => {
  const processes = await openProcesses();
  const { inbox } = await processes.start();
  const ofQueue = (id: string): FullDelivery => ({ ...mail(["a"]), idInQueue: id });
  await storeAll(inbox, ofQueue("m-1"));
  const holder = await processes.sql.connect();
  onTestFinished(async () => {
    await holder.query("rollback");
    holder.release();
  });
  await holder.query("begin");
  await holder.query("update hookline.dedupe set seen_at = seen_at");
  expect(await inbox.store([ofQueue("m-1")])).toMatchObject([{ message: expect.stringContaining("lock timeout") }]);
  expect(await inbox.store([ofQueue("m-2")])).toMatchObject([{ expanded: true }]);
});

test("deliveries of a queue keep their order: what waits for a lock lets none behind it pass", async () => {
  const processes = await openProcesses();
  const { inbox } = await processes.start();
  const release = await lockTables(processes.sql, "ended_count");
  const given = [
    { ...mail([nobodys("x"), "a"]), idInQueue: "m-1" },
    { ...mail(["a"]), idInQueue: "m-2" },
  ];
  expect(await inbox.store([...given, mail(["b"])])).toMatchObject([
    { message: expect.stringContaining("lock timeout") },
    { message: expect.stringContaining("lock timeout") },
    { expanded: true },
  ]);
  await release();
  await processes.passing(async () => void (await storeAll(inbox, ...given)));
});

test("replays that wait for a lock keep no delivery from being stored, and hold once it is free", async () => {
  const processes = await openProcesses();
  const { inbox, clock } = await processes.start();
  await storeAll(inbox, mail(["a"]), mail(["b"]));
  const error = { name: "Error", message: "no", at: clock.now() };
  const claims = await claimAll(inbox);
  for (const claim of claims) await settleAll(inbox, claim, { to: "dead", error });
  const release = await lockTables(processes.sql, "dead");
  const order: string[] = [];
  const replays = claims.map(async ({ jobs: [{ id }] }) =>
    inbox.jobs.replay({ ids: [id] }).then((count) => order.push(`replayed ${count}`)),
  );
  for (let stored = 0; stored < 4; stored += 1) {
    await storeAll(inbox, mail([`${stored}`]));
    order.push("stored");
  }
  await release();
  await Promise.all(replays);
  expect(order).toEqual(["stored", "stored", "stored", "stored", "replayed 1", "replayed 1"]);
});

test("while others hold a lock on the table of dead letters, jobs that fail are refused together: those that are done do not wait for them", async () => {
  const processes = await openProcesses();
  const { inbox, clock } = await processes.start();
  const ids = Array.from({ length: 20 }, (_, place) => `${place}`);
  await storeAll(inbox, mail(ids));
  const [first, second, ...dying] = await claimAll(inbox);
  const release = await lockTables(processes.sql, "dead");
  const dead: JobOutcome = { to: "dead", error: { name: "Error", message: "no", at: clock.now() } };
  const retry: JobOutcome = { ...dead, to: "retry", at: clock.now(), delayMs: 1, counted: true };
  const settle = (claim = dying[0]!, to: JobOutcome = dead) => inbox.settle([{ claim, outcomes: [to] }]);
  const refused = dying.map((claim, place) =>
    expect(settle(claim, place % 2 === 0 ? dead : retry)).rejects.toThrow("lock timeout"),
  );
  await settleAll(inbox, first!, done);
  await Promise.all(refused);
  await expect(settle()).rejects.toThrow("lock timeout");
  await settleAll(inbox, second!, done);
  await release();
  await processes.passing(async () => void (await Promise.all(dying.map((claim) => settleAll(inbox, claim, dead)))));
  expect(inbox.stats()).toMatchObject({ waiting: 0, running: 0 });
});

test("a replay that holds does not fail for a lock on the table of subscriptions", async () => {
  const processes = await openProcesses();
  const { inbox, clock } = await processes.start();
  await storeAll(inbox, mail(["a"]));
  await settleAll(inbox, await claimOne(inbox), {
    to: "dead",
    error: { name: "Error", message: "no", at: clock.now() },
  });
  await lockTables(processes.sql, "subscription");
  expect(await inbox.jobs.replay({ states: ["dead"] })).toBe(1);
});
