import {
  createReceiver,
  forwardInbox,
  GiveUp,
  memoryInbox,
  RetryLater,
  type Job,
  type Receiver,
  type ReceiverOptions,
  type StoredDelivery,
} from "hookline";
import { deliver, sample, testClock } from "hookline/testing";
import { describe, expect, expectTypeOf, onTestFinished, test } from "vitest";
import { deferred, turns, until } from "../support/event-loop.ts";
import { serve } from "../support/http.ts";

const secret = "a signing secret";
const DAY_MS = 86_400_000;

/** A receiver until the test ends; by itself its time passes. */
function receiving(options: Partial<ReceiverOptions> = {}): Receiver {
  const receiver: Receiver = createReceiver({ secret, inbox: memoryInbox(), log: false, ...options });
  onTestFinished(() => void receiver.close({ drainMs: 0 }));
  return receiver;
}

/** The same with a clock that stands still. */
function still(options: Partial<ReceiverOptions> = {}) {
  const clock = testClock();
  const startedAt = clock.now();
  return { clock, passed: () => clock.now() - startedAt, receiver: receiving({ clock, ...options }) };
}

/** How each job ended, by the record that it is about. */
function endsOf(jobs: readonly Job[]): [string, string][] {
  return jobs.map(({ event, state }) => [String((event as { readonly id?: unknown }).id), state]);
}

describe("deliver", () => {
  test("hands a signed event in, starts the receiver, and gives the answer", async () => {
    const { receiver, clock } = still();
    const seen: unknown[] = [];
    receiver.on("email.created", (event, ctx) => seen.push([event, ctx.sentAt, ctx.receivedAt]));
    const delivery = await deliver(receiver, sample("email.created"), { secret });
    expect(delivery).toMatchObject({ status: 200, body: "" });
    expect(receiver.stats()).toMatchObject({ role: "working", stored: 1 });
    expectTypeOf(delivery.settled).toEqualTypeOf<() => Promise<readonly Job[]>>();

    const [job, ...others] = await delivery.settled();
    expect(others).toEqual([]);
    expect(job).toMatchObject({ state: "done", consumer: "default", event: sample("email.created") });
    expect(seen).toEqual([[sample("email.created"), new Date(clock.now()), new Date(clock.now())]]);
  });

  test("signs at the receiver's own time, or at the given one", async () => {
    const { receiver, clock } = still();
    await clock.advance(400 * DAY_MS);
    const sent: Date[] = [];
    receiver.on("booking", (_, ctx) => sent.push(ctx.sentAt));
    const yesterday = new Date(clock.now() - DAY_MS);
    const stale = new Date(clock.now() - 8 * DAY_MS);
    await (await deliver(receiver, sample("booking", { eventId: "e-1" }), { secret })).settled();
    await (await deliver(receiver, sample("booking", { eventId: "e-2" }), { secret, at: yesterday })).settled();
    expect(sent).toEqual([new Date(clock.now()), yesterday]);
    expect(await deliver(receiver, sample("booking"), { secret, at: stale })).toMatchObject({ status: 401 });
  });

  test("of one that is refused gives the answer, and nothing to settle", async () => {
    const { receiver } = still();
    receiver.on("email.created", () => {});
    receiver.unsubscribeWhen(({ accountId }, unsubscribe) => (accountId === 9 ? unsubscribe("gone") : undefined));
    const wrong = await deliver(receiver, sample("email.created"), { secret: "another" });
    expect(wrong.status).toBe(401);
    expect(await wrong.settled()).toEqual([]);

    const unwanted = await deliver(receiver, sample("email.created", { accountId: 9 }), { secret });
    expect(unwanted.status).toBe(422);
    expect(await unwanted.settled()).toEqual([]);
  });

  test("to a queue of the user's own gives the answer, and nothing to settle", async () => {
    const queue: StoredDelivery[] = [];
    const receiver = receiving({ inbox: forwardInbox(async (deliveries) => void queue.push(...deliveries)) });
    const seen: string[] = [];
    receiver.on("email.created", (event) => seen.push(event.id));
    const delivery = await deliver(receiver, sample("email.created"), { secret });
    expect(delivery.status).toBe(200);
    expect(await delivery.settled()).toEqual([]);
    expect(seen).toEqual([]);

    for (const stored of queue) await receiver.handle(stored);
    expect(seen).toEqual(["m-1"]);
  });

  test("to a queue that does not take it gives the answer, and nothing to settle", async () => {
    const receiver = receiving({ inbox: forwardInbox(() => Promise.reject(new Error("no"))) });
    const delivery = await deliver(receiver, sample("email.created"), { secret });
    expect(delivery.status).toBe(503);
    expect(await delivery.settled()).toEqual([]);
  });

  test("takes no receiver but one that was made here", async () => {
    const strange = { ...receiving() } as Receiver;
    await expect(deliver(strange, sample("booking"), { secret })).rejects.toMatchObject({ code: "receiver-invalid" });
  });

  test("to a closed receiver throws", async () => {
    const receiver = receiving();
    await receiver.close();
    await expect(deliver(receiver, sample("booking"), { secret })).rejects.toMatchObject({ code: "closed" });
  });

  test("without a secret, or of events that cannot come together, throws and stores nothing", async () => {
    const receiver = receiving();
    await expect(deliver(receiver, sample("booking"), { secret: " " })).rejects.toMatchObject({
      code: "secret-missing",
    });
    await expect(deliver(receiver, [sample("booking"), sample("email.created")], { secret })).rejects.toMatchObject({
      code: "events-not-combinable",
    });
    await expect(deliver(receiver, { payloads: [] } as never, { secret })).rejects.toMatchObject({
      code: "events-not-combinable",
      message: expect.stringContaining("got something without a `type`") as string,
    });
    expect(receiver.stats().stored).toBe(0);
  });
});

describe("settled", () => {
  test("gives the jobs of all entries in their order, handled or not", async () => {
    const { receiver } = still();
    receiver.on("email.created", (event) => {
      if (event.id === "m-3") throw new GiveUp("it is gone");
    });
    const events = Array.from({ length: 12 }, (_, index) =>
      index % 2 === 0 ? sample("email.updated", { id: `m-${index}` }) : sample("email.created", { id: `m-${index}` }),
    );
    const jobs = await (await deliver(receiver, events, { secret })).settled();
    expect(endsOf(jobs)).toEqual(
      events.map(({ id, type }) => [id, type === "email.updated" ? "skipped" : id === "m-3" ? "dead" : "done"]),
    );
  });

  test("reports unhandled events", async () => {
    const { receiver } = still();
    receiver.on("email.created", () => {});
    const jobs = await (await deliver(receiver, sample("contact.created"), { secret })).settled();
    expect(jobs).toMatchObject([{ state: "unhandled", event: sample("contact.created") }]);
    const wire = await deliver(receiver, { wire: "no JSON" }, { secret });
    expect(await wire.settled()).toMatchObject([{ state: "unhandled", event: { reason: "not-json" } }]);
  });

  test("tells duplicates, which make no call, as skipped", async () => {
    const { receiver } = still();
    const seen: number[] = [];
    receiver.on("tracking", (event) => seen.push(event.id));
    const both = [sample("tracking.open", { id: 1 }), sample("tracking.click", { id: 2 })];
    expect(endsOf(await (await deliver(receiver, both, { secret })).settled())).toEqual([
      ["1", "done"],
      ["2", "done"],
    ]);
    const again = [sample("tracking.open", { id: 1 }), sample("tracking.click", { id: 3 })];
    expect(endsOf(await (await deliver(receiver, again, { secret })).settled())).toEqual([
      ["1", "skipped"],
      ["3", "done"],
    ]);
    expect(seen).toEqual([1, 2, 3]);
  });

  test("waits for every consumer", async () => {
    const { receiver } = still();
    receiver.on("email.created", () => {});
    receiver.on(
      "email.created",
      (_, ctx) => {
        if (ctx.attempt < 3) throw new Error("no");
      },
      { consumer: "search" },
    );
    receiver.on(
      "email.created",
      () => {
        throw new GiveUp("no");
      },
      { consumer: "audit" },
    );
    const jobs = await (await deliver(receiver, sample("email.created"), { secret })).settled();
    expect(jobs.map(({ consumer, state }) => [consumer, state])).toEqual([
      ["default", "done"],
      ["search", "done"],
      ["audit", "dead"],
    ]);
  });

  test("tells each of the changes that one call handled", async () => {
    const { receiver } = still();
    const merged: number[] = [];
    receiver.on("email.changes", ({ changes }, ctx) => merged.push(changes.length, ctx.merged));
    const jobs = await (await deliver(receiver, sample("email.changes"), { secret })).settled();
    expect(endsOf(jobs)).toEqual([
      ["m-1", "done"],
      ["m-2", "done"],
    ]);
    expect(merged).toEqual([2, 2]);
  });

  test("may be asked again, and late", async () => {
    const { receiver } = still();
    receiver.on("email.created", () => {});
    const delivery = await deliver(receiver, sample("email.created"), { secret });
    await receiver.idle();
    const jobs = await delivery.settled();
    expect(jobs).toHaveLength(1);
    expect(await delivery.settled()).toEqual(jobs);
  });

  test.each([true, false])("waits for 3,000 entries, each once and in order, with a test clock: %s", async (stands) => {
    const { receiver } = stands ? still({ concurrency: 100 }) : { receiver: receiving({ concurrency: 100 }) };
    let calls = 0;
    receiver.on("email.created", () => (calls += 1));
    const events = Array.from({ length: 3_000 }, (_, index) => sample("email.created", { id: `m-${index}` }));
    const jobs = await (await deliver(receiver, events, { secret })).settled();
    expect(endsOf(jobs)).toEqual(events.map(({ id }) => [id, "done"]));
    expect(calls).toBe(3_000);
  });

  test("tells the very same event apart when it is delivered twice at once", async () => {
    const { receiver, clock } = still();
    const calls = new Map<string, number>();
    receiver.on(
      "email.created",
      (_, ctx) => {
        const call = (calls.get(ctx.jobId) ?? 0) + 1;
        calls.set(ctx.jobId, call);
        if (call === 1) throw new RetryLater({ at: new Date(clock.now() + 3_600_000) });
      },
      { merge: false, lane: "none" },
    );
    const event = sample("email.created");
    const deliveries = await Promise.all([1, 2, 3].map(() => deliver(receiver, event, { secret })));
    const settled = await Promise.all(deliveries.map((delivery) => delivery.settled()));
    expect(settled.map((jobs) => endsOf(jobs))).toEqual([[["m-1", "done"]], [["m-1", "done"]], [["m-1", "done"]]]);
    expect(new Set(settled.flat().map(({ id }) => id)).size).toBe(3);
    expect(new Set(settled.flat().map(({ deliveryId }) => deliveryId)).size).toBe(3);
    expect([...calls.values()]).toEqual([2, 2, 2]);
  });

  test("in one call where they were merged, each with a job of its own", async () => {
    const { receiver } = still();
    const merged: number[] = [];
    receiver.on("email.created", (_, ctx) => merged.push(ctx.merged));
    const event = sample("email.created");
    const settled = await Promise.all(
      [1, 2, 3].map(async () => (await deliver(receiver, event, { secret })).settled()),
    );
    expect(settled.map((jobs) => endsOf(jobs))).toEqual([[["m-1", "done"]], [["m-1", "done"]], [["m-1", "done"]]]);
    expect(merged.reduce((sum, count) => sum + count, 0)).toBe(3);
  });

  test.each([true, false])("throws when the receiver was closed before, with a test clock: %s", async (stands) => {
    const { receiver } = stands ? still() : { receiver: receiving() };
    receiver.on("email.created", () => {
      throw new RetryLater({ afterSeconds: 3_600 });
    });
    const delivery = await deliver(receiver, sample("email.created"), { secret });
    await receiver.idle();
    await receiver.close();
    await expect(delivery.settled()).rejects.toMatchObject({ code: "closed" });
  });
});

describe("under a test clock", () => {
  test("a day of retries is over at once", async () => {
    const { receiver, passed } = still();
    let attempts = 0;
    receiver.on("email.created", () => {
      attempts += 1;
      throw new Error("no");
    });
    const jobs = await (await deliver(receiver, sample("email.created"), { secret })).settled();
    expect(jobs).toMatchObject([{ state: "dead", attempts, lastError: { message: "no" } }]);
    expect(passed()).toBeGreaterThanOrEqual(DAY_MS);
    expect(passed()).toBeLessThan(DAY_MS + 600_000);
    expect(attempts).toBeGreaterThan(100);
  });

  test("no more time passes than is waited for", async () => {
    const { receiver, passed } = still();
    let calls = 0;
    receiver.on("email.created", () => {
      calls += 1;
      if (calls === 1) throw new RetryLater({ afterMs: DAY_MS - 1 });
    });
    const jobs = await (await deliver(receiver, sample("email.created"), { secret })).settled();
    expect(jobs).toMatchObject([{ state: "done" }]);
    expect(calls).toBe(2);
    expect(passed()).toBe(DAY_MS - 1);
  });

  test("a delivery waits for the earlier job that blocks its lane", async () => {
    const { receiver, passed } = still();
    const calls: string[] = [];
    receiver.on(
      "email",
      (event) => {
        calls.push(event.type);
        if (calls.length === 1) throw new RetryLater({ afterMs: DAY_MS });
      },
      { merge: false },
    );
    const earlier = await deliver(receiver, sample("email.created"), { secret });
    await receiver.idle();
    const later = await deliver(receiver, sample("email.updated"), { secret });
    expect(await later.settled()).toMatchObject([{ state: "done" }]);
    expect(calls).toEqual(["email.created", "email.created", "email.updated"]);
    expect(passed()).toBe(DAY_MS);
    expect(await earlier.settled()).toMatchObject([{ state: "done" }]);
  });

  test("a handler that waits for a real server does not meet its time limit", async () => {
    const { receiver, passed } = still();
    const slow = await serve((_req, res) => void turns(50).then(() => res.end("hello")));
    const texts: string[] = [];
    receiver.on(
      "email.created",
      async (_, ctx) => {
        for (let times = 0; times < 3; times += 1) {
          texts.push(await (await fetch(slow.url, { signal: ctx.signal })).text());
        }
      },
      { timeoutMs: 1 },
    );
    const jobs = await (await deliver(receiver, sample("email.created"), { secret })).settled();
    expect(jobs).toMatchObject([{ state: "done" }]);
    expect(texts).toEqual(["hello", "hello", "hello"]);
    expect(receiver.stats().failed).toBe(0);
    expect(passed()).toBe(0);
  });

  test("nor does it when another delivery waits for it, or for a time of its own", async () => {
    const { receiver, passed } = still();
    const answered = deferred();
    const slow = await serve((_req, res) => void answered.promise.then(() => res.end()));
    const calls: string[] = [];
    receiver.on(
      "email",
      async (event, ctx) => {
        calls.push(`${event.id} ${event.changeType}`);
        if (event.changeType === "created") await fetch(slow.url, { signal: ctx.signal });
        else if (calls.length === 2) throw new RetryLater({ afterMs: DAY_MS });
      },
      { merge: false },
    );
    const deliveries = await Promise.all([
      deliver(receiver, sample("email.created", { id: "m-1" }), { secret }),
      deliver(receiver, sample("email.updated", { id: "m-1" }), { secret }),
      deliver(receiver, sample("email.updated", { id: "m-2" }), { secret }),
    ]);
    const settled = Promise.all(deliveries.map((delivery) => delivery.settled()));
    await until(() => slow.connections() === 1);
    await turns(50);
    expect(passed()).toBe(0);
    answered.resolve();
    expect((await settled).flat().map(({ state }) => state)).toEqual(["done", "done", "done"]);
    expect(calls).toEqual(["m-1 created", "m-2 updated", "m-1 updated", "m-2 updated"]);
    expect(passed()).toBe(DAY_MS);
  });

  test("a settled delivery resolves although another's handler still runs", async () => {
    const { receiver } = still();
    const held = deferred();
    receiver.on("email.created", (event) => (event.id === "m-1" ? held.promise : undefined));
    const first = await deliver(receiver, sample("email.created", { id: "m-1" }), { secret });
    const second = await deliver(receiver, sample("email.created", { id: "m-2" }), { secret });
    expect(await second.settled()).toMatchObject([{ state: "done" }]);
    held.resolve();
    expect(await first.settled()).toMatchObject([{ state: "done" }]);
  });

  test("a time limit is met by advancing", async () => {
    const { receiver, clock } = still();
    const reasons: unknown[] = [];
    receiver.on("email.created", async (_, ctx) => {
      if (ctx.attempt > 1) return;
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      reasons.push(ctx.signal.reason);
      ctx.signal.throwIfAborted();
    });
    const delivery = await deliver(receiver, sample("email.created"), { secret });
    const settled = delivery.settled();
    await clock.advance(30_000);
    expect(await settled).toMatchObject([{ state: "done" }]);
    expect(reasons).toMatchObject([{ code: "handler-timeout" }]);
  });
});

describe("without a test clock", () => {
  test("settled waits for as long as it takes", async () => {
    const receiver = receiving();
    const held = deferred();
    let calls = 0;
    receiver.on("email.created", async () => {
      calls += 1;
      if (calls === 1) throw new RetryLater({ afterMs: 1 });
      await held.promise;
    });
    const delivery = await deliver(receiver, sample("email.created"), { secret });
    const settled = delivery.settled();
    await until(() => calls === 2);
    held.resolve();
    expect(await settled).toMatchObject([{ state: "done" }]);
  });

  test("deliver signs with the present time", async () => {
    const receiver = receiving();
    const sent: number[] = [];
    receiver.on("email.created", (_, ctx) => sent.push(ctx.sentAt.getTime()));
    const before = Date.now() - 1_000;
    await (await deliver(receiver, sample("email.created"), { secret })).settled();
    expect(sent[0]).toBeGreaterThan(before);
    expect(sent[0]).toBeLessThanOrEqual(Date.now());
  });
});
