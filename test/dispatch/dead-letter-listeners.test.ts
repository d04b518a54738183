import { createReceiver, GiveUp, memoryInbox, type Job } from "hookline";
import { describe, expect, onTestFinished, test } from "vitest";
import { crashableInbox } from "../support/crashable-inbox.ts";
import { deferred, turns, until, watch } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { logRecorder } from "../support/log-recorder.ts";
import { bodyOf, change, signedRequest } from "../support/make-delivery.ts";
import { emails, failingHandler, heldHandler, idOf, recordingHandler, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

describe("onDead", () => {
  test("is called with a job before it is marked dead, with all its fields", async () => {
    const { receiver, send, pass, inbox, clock } = rig({ attempts: 2 });
    const heard: [Job, number][] = [];
    receiver.on("email", failingHandler(new TypeError("broken")).handler);
    receiver.onDead((job) => heard.push([job, inbox.stats().dead]));
    await receiver.start();
    await send(emails("a"));
    await pass(10_000);
    const { jobs } = await inbox.jobs.find({ limit: 10 });
    expect(heard).toEqual([
      [expect.objectContaining({ id: jobs[0]?.id, state: "dead", consumer: "default", attempts: 2 }), 0],
    ]);
    expect(heard[0]?.[0]).toMatchObject({
      event: { type: "email.updated", id: "a" },
      deliveryId: jobs[0]?.deliveryId,
      lastError: { name: "TypeError", message: "broken" },
    });
    expect(heard[0]?.[0].settledAt?.getTime()).toBe(jobs[0]?.settledAt);
    expect(jobs[0]?.settledAt).toBeLessThanOrEqual(clock.now());
    expect(inbox.stats().dead).toBe(1);
  });

  test("is not called for a job that is tried again", async () => {
    const { receiver, send, pass } = rig();
    const heard: Job[] = [];
    receiver.on("email", failingHandler().handler);
    receiver.onDead((job) => heard.push(job));
    await receiver.start();
    await send();
    await pass(60_000);
    expect(heard).toEqual([]);
  });

  test("may have several listeners, one after another; each is called for each merged job", async () => {
    const { receiver, send, pass } = rig({ attempts: 1 });
    const heard: string[] = [];
    receiver.on("email", failingHandler().handler);
    receiver.onDead(({ id }) => heard.push(`one ${id}`)).onDead(async ({ id }) => heard.push(`two ${id}`));
    await send(emails("a", "a"));
    await receiver.start();
    await pass();
    expect(heard).toHaveLength(4);
    expect(heard.map((text) => text.slice(0, 3))).toEqual(["one", "two", "one", "two"]);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("the pager is down");
      },
    ],
    ["rejects", () => Promise.reject(new Error("the pager is down"))],
  ])("that %s is logged, and the job is marked all the same", async (_, listener) => {
    const { receiver, send, pass, inbox, log } = rig({ attempts: 1 });
    const heard: Job[] = [];
    receiver.on("email", failingHandler().handler);
    receiver.onDead(listener).onDead((job) => heard.push(job));
    await receiver.start();
    await send();
    await pass();
    expect([heard.length, inbox.stats().dead]).toEqual([1, 1]);
    expect(log.text()).toContain("the pager is down");
  });

  test("that never ends keeps no other job from its slot", async () => {
    const { receiver, send, pass } = rig({ attempts: 1, concurrency: 2, timeoutMs: 20_000 });
    const handled: string[] = [];
    receiver.on("email", (event) => {
      if (idOf(event).startsWith("bad")) throw new GiveUp("no");
      handled.push(idOf(event));
    });
    receiver.onDead(() => new Promise(() => {}));
    await receiver.start();
    await send(emails("bad-1", "bad-2", "bad-3", "bad-4", "good-1", "good-2", "good-3"));
    await pass();
    expect(handled).toEqual(["good-1", "good-2", "good-3"]);
  });

  test("runs for no more than some 256 calls at a time: further ones keep their slots", async () => {
    const { receiver, send, pass, inbox } = rig({ attempts: 1, concurrency: 2 });
    const told: (() => void)[] = [];
    receiver.on("email", () => Promise.reject(new GiveUp("no")));
    receiver.onDead(() => new Promise<void>((resolve) => void told.push(resolve)));
    await receiver.start();
    for (let nth = 0; nth < 400; nth += 100)
      await send(emails(...Array.from({ length: 100 }, (_, index) => `bad-${nth + index}`)));
    await pass();
    expect(told.length).toBeGreaterThan(255);
    expect(told.length).toBeLessThan(260);
    for (let index = 0; index < told.length; index += 1) {
      told[index]?.();
      await pass();
    }
    expect([told.length, inbox.stats().dead]).toEqual([400, 400]);
  });

  test("that never ends, of however many jobs, keeps each of the others waiting for a second at most", async () => {
    const { receiver, send, pass, inbox } = rig({ attempts: 1, concurrency: 10, timeoutMs: 600_000 });
    const told: string[] = [];
    const handled: string[] = [];
    receiver.on("email", (event) => {
      if (idOf(event).startsWith("bad")) throw new GiveUp("no");
      handled.push(idOf(event));
    });
    receiver.onDead(({ id }) => {
      told.push(id);
      return new Promise(() => {});
    });
    await receiver.start();
    for (let nth = 0; nth < 600; nth += 100)
      await send(emails(...Array.from({ length: 100 }, (_, index) => `bad-${nth + index}`)));
    await pass();
    expect(told.length).toBe(265);
    await send(bodyOf({ accountId: 3003, payloads: [change("good")] }));
    await pass();
    expect(handled).toEqual([]);
    await pass(1_000);
    expect(handled).toEqual(["good"]);
    await pass(2_000);
    expect([told.length, inbox.stats().dead]).toEqual([600, 521]);
  });

  test("that never ends is waited for a second more as the receiver closes", async () => {
    const { receiver, send, pass, inbox } = rig({ attempts: 1, timeoutMs: 600_000 });
    receiver.on("email", failingHandler().handler);
    receiver.onDead(() => new Promise(() => {}));
    await receiver.start();
    await send();
    await pass();
    const closed = watch(receiver.close({ drainMs: 6_000 }));
    await pass(1_000);
    expect(inbox.stats().dead).toBe(0);
    await pass(1_000);
    expect([inbox.stats().dead, closed.value]).toEqual([1, { done: 0, released: 0, stuck: 0 }]);
  });

  test.each([
    ["`timeoutMs`", { timeoutMs: 2_000 }, 2_000],
    ["5 min, where `timeoutMs` is longer,", { timeoutMs: 2 ** 31 - 1 }, 300_000],
    ["30 s, where there is no `timeoutMs`,", { timeoutMs: 0 }, 30_000],
  ])("that takes longer than %s is logged, and the job is marked all the same", async (_, options, limitMs) => {
    const { receiver, send, pass, inbox, log } = rig({ attempts: 1, ...options });
    receiver.on("email", failingHandler().handler);
    receiver.onDead(() => new Promise(() => {}));
    await receiver.start();
    await send();
    await pass(limitMs - 1);
    expect(inbox.stats().dead).toBe(0);
    await pass(1);
    expect(inbox.stats().dead).toBe(1);
    expect(log.of("on-dead-late")).toMatchObject([{ level: "error", facts: { timeoutMs: limitMs } }]);
  });

  test("runs once more when the inbox did not take the mark, at least once in all", async () => {
    let broken = true;
    const inbox = stubInbox((own) => ({
      settle: (settlements) => (broken ? Promise.reject(new Error("full disk")) : own.settle(settlements)),
    }));
    const { receiver, send, pass } = rig({ inbox, attempts: 1 });
    const heard: Job[] = [];
    receiver.on("email", failingHandler().handler);
    receiver.onDead((job) => heard.push(job));
    await receiver.start();
    await send();
    await pass(5_000);
    expect(receiver.stats().dead).toBe(0);
    broken = false;
    await pass(1_000);
    expect(receiver.stats().dead).toBe(1);
    expect(heard.length).toBeGreaterThanOrEqual(1);
  });

  test("is not called for a job whose claim was lost: it is never marked", async () => {
    const { receiver, send, inbox } = rig({ attempts: 1 });
    const { handler, last } = heldHandler();
    const heard: Job[] = [];
    receiver.on("email", handler).onDead((job) => heard.push(job));
    await receiver.start();
    await send(emails("a"));
    await turns();
    await inbox.jobs.erase(2002);
    last().fail(last().ctx.signal.reason);
    await turns();
    expect(inbox.stats().dead).toBe(0);
    expect(heard).toEqual([]);
  });

  test("that took too long is not waited for again with the same call, and is called for all its jobs", async () => {
    const { receiver, send, pass, inbox } = rig({ attempts: 1, timeoutMs: 1_000 });
    const heard: string[] = [];
    receiver.on("email", failingHandler().handler).onDead(({ id }) => {
      heard.push(id);
      return new Promise(() => {});
    });
    await send(emails("a", "a", "a"));
    await receiver.start();
    await pass(1_000);
    expect(heard).toHaveLength(3);
    expect(inbox.stats().dead).toBe(3);
  });

  test("that is slow for each of many merged jobs holds their lane for `timeoutMs` in all, and hears of each", async () => {
    const { receiver, send, pass, inbox, clock, log } = rig({ attempts: 1, timeoutMs: 30_000 });
    const heard = new Set<string>();
    receiver.on("email", failingHandler().handler).onDead(({ id }) => {
      heard.add(id);
      return new Promise<void>((resolve) => void clock.setTimer(resolve, 29_000));
    });
    await send(emails(...Array.from({ length: 100 }, () => "a")));
    await receiver.start();
    await pass(29_000);
    expect([heard.size, inbox.stats().dead]).toEqual([2, 0]);
    await pass(1_000);
    expect([heard.size, inbox.stats().dead]).toEqual([100, 100]);
    expect(log.of("on-dead-late")).toHaveLength(1);
  });

  test("holds the job's lane until the job is marked, and no other, and no slot", async () => {
    const { receiver, send, inbox } = rig({ concurrency: 1 });
    const heard = deferred();
    const { seen, handler } = recordingHandler((event) => {
      if (idOf(event) === "a" && seen.length === 1) throw new GiveUp("gone");
    });
    receiver.on("email", handler, { merge: false }).onDead(() => heard.promise);
    await receiver.start();
    await send(emails("a", "a", "b"));
    await turns();
    expect([seen, inbox.stats().dead]).toEqual([["a", "b"], 0]);
    heard.resolve();
    await receiver.idle();
    expect([seen, inbox.stats().dead]).toEqual([["a", "b", "a"], 1]);
  });

  test("is called again by the next process where this one died before the mark", async () => {
    const store = memoryInbox();
    const clock = fakeClock();
    const heard: string[] = [];
    const life = (inbox = store) => {
      const made = rig({ inbox, clock, attempts: 1 });
      made.receiver.on("email", failingHandler().handler);
      return made;
    };
    const first = crashableInbox(store);
    const before = life(first.inbox);
    before.receiver.onDead((job: Job) => {
      heard.push(job.id);
      first.crash();
    });
    await before.receiver.start();
    await before.send(emails("a"));
    await before.pass();
    const after = life();
    after.receiver.onDead(({ id }) => heard.push(id));
    await after.receiver.start();
    await after.receiver.idle();
    expect(heard).toHaveLength(2);
    expect(new Set(heard).size).toBe(1);
    expect(after.inbox.stats()).toMatchObject({ dead: 1, waiting: 0 });
  });

  test("is called only for those jobs of a merged call that are dead, before any of them is marked", async () => {
    const { receiver, send, pass, inbox } = rig({ attempts: 2 });
    const heard: [number | undefined, number][] = [];
    receiver.on("email", failingHandler().handler);
    receiver.onDead((job) => heard.push([job.attempts, inbox.stats().dead]));
    await receiver.start();
    await send(emails("a"));
    await turns();
    await send(emails("a", "a"));
    await pass(1_000);
    expect(heard).toEqual([[2, 0]]);
    await pass(2_000);
    expect(heard).toEqual([
      [2, 0],
      [2, 1],
      [2, 1],
    ]);
  });

  test("with listeners that compute and wait for nothing has its time limit all the same, on the machine's own clock", async () => {
    const log = logRecorder();
    const receiver = createReceiver({ secret: "s", inbox: memoryInbox(), log: log.logger, attempts: 1, timeoutMs: 20 });
    onTestFinished(() => void receiver.close({ drainMs: 0 }));
    const heard: string[] = [];
    receiver.on("email.changes", failingHandler().handler);
    receiver.onDead(async ({ id }) => {
      for (const end = performance.now() + 2; performance.now() < end;);
      heard.push(id);
    });
    const ids = Array.from({ length: 100 }, (_, at) => `m-${at}`);
    await receiver.receive(signedRequest(emails(...ids), { secret: "s", at: new Date() }));
    await receiver.start();
    await until(() => heard.length === ids.length);
    expect(log.of("on-dead-late")).toHaveLength(1);
  });
});
