import { createReceiver, forwardInbox, memoryInbox, RetryLater, UsageError } from "hookline";
import { RateLimited } from "hookline/client";
import { describe, expect, test } from "vitest";
import { turns } from "../support/event-loop.ts";
import { fakeClock, type FakeClock } from "../support/fake-clock.ts";
import { bodyOf, change } from "../support/make-delivery.ts";
import { heldHandler, idOf, rig, type Rig } from "../support/rig.ts";

/** Changes of e-mails of an account. */
function mailsOf(accountId: number, ...ids: readonly string[]): string {
  return bodyOf({ accountId, payloads: ids.map((id) => change(id)) });
}

const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `m-${index}`);

/** A rig whose handler records `<account> <id>`, and holds its calls if wanted. */
function recording(options?: Parameters<typeof rig>[0], handlerOptions?: object): Rig & { readonly seen: string[] } {
  const seen: string[] = [];
  const one = rig(options);
  one.receiver.on("email", (event) => void seen.push(`${event.accountId} ${event.id}`), handlerOptions);
  return { ...one, seen };
}

async function isInvalid(promise: Promise<unknown>, code: string): Promise<void> {
  await expect(promise).rejects.toMatchObject({ name: "UsageError", code });
}

describe("accounts take turns", () => {
  test("one change of another account starts after the calls that run, and one more", async () => {
    const { receiver, send, pass } = rig({ concurrency: 2 });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(mailsOf(1, ...many(200)));
    await pass();
    await send(mailsOf(2, "late"));
    await pass();
    for (let index = 0; index < 8; index += 1) {
      calls[index]?.end();
      await pass();
    }
    const place = calls.findIndex(({ event }) => idOf(event) === "late");
    expect(place).toBeGreaterThan(1);
    expect(place).toBeLessThanOrEqual(2 + 2 * 2 + 1);
  });

  test("also where hundreds are claimed ahead of fast handlers", async () => {
    const { receiver, send, pass } = rig({ concurrency: 2 });
    const seen: number[] = [];
    let sent: Promise<void> | undefined;
    let storedAt = 0;
    // Two calls a turn of the event loop: how many fit into one must not depend on the machine.
    receiver.on("email", async (event) => {
      seen.push(event.accountId);
      if (seen.length === 3_000) sent = send(mailsOf(2, "late"));
      await turns(1);
    });
    receiver.observe({ stored: () => (storedAt = seen.length) });
    await receiver.start();
    for (let page = 0; page < 10; page += 1) await send(mailsOf(1, ...many(500).map((id) => `${page} ${id}`)));
    await pass();
    await receiver.idle();
    await sent;
    await receiver.idle();
    expect(seen).toHaveLength(5_001);
    expect(seen.indexOf(2) - storedAt).toBeLessThanOrEqual(30);
  });

  test("not with `none`: the first come is served first", async () => {
    const { receiver, send, pass, seen } = recording({ concurrency: 1, fairness: "none" });
    await send(mailsOf(1, ...many(5)));
    await send(mailsOf(2, "late"));
    await receiver.start();
    await pass();
    expect(seen.at(-1)).toBe("2 late");
  });
});

describe("`perAccount`", () => {
  test("runs so many of an account at once, and holds up nobody else", async () => {
    const { receiver, send, pass } = rig({ concurrency: 4 });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler, { perAccount: 2 });
    await receiver.start();
    await send(mailsOf(1, ...many(9)));
    await send(mailsOf(2, "a"));
    await pass();
    expect(calls.map(({ event }) => event.accountId)).toEqual([1, 1, 2]);
    calls[0]?.end();
    await pass();
    expect(calls.map(({ event }) => event.accountId)).toEqual([1, 1, 2, 1]);
  });

  test("a handler that is stuck keeps its lane, and none of the calls that its account may have", async () => {
    const { receiver, send, pass, clock } = rig({ graceMs: 1_000 });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler, { perAccount: 1, timeoutMs: 10_000 });
    await receiver.start();
    await send(mailsOf(1, ...many(3)));
    await pass();
    expect(calls).toHaveLength(1);
    await clock.advance(11_000);
    await pass();
    expect(calls).toHaveLength(2);
    calls[1]?.end();
    await pass();
    expect(calls).toHaveLength(3);
    // It ends after all: no call more may run than before.
    calls[0]?.end();
    await send(mailsOf(1, ...many(5)));
    await pass();
    expect(calls).toHaveLength(3);
  });

  test.each([0, -1, Number.NaN, 1.5, "2"])("%s is refused", (perAccount) => {
    const { receiver } = rig();
    expect(() => receiver.on("email", () => {}, { perAccount: perAccount as number })).toThrow(UsageError);
  });

  test("is refused where nothing can wait for its turn", () => {
    const receiver = createReceiver({ secret: "s", inbox: forwardInbox(async () => {}), log: false });
    expect(() => receiver.on("email", () => {}, { perAccount: 2 })).toThrow(/forwardInbox/u);
  });
});

describe("RetryLater for an account", () => {
  test("costs as many calls as run, not one for each job; others go on", async () => {
    const { receiver, send, pass, clock } = rig({ concurrency: 3 });
    const tried: number[] = [];
    let isLimited = true;
    receiver.on("email", (event) => {
      tried.push(event.accountId);
      if (event.accountId === 1 && isLimited) throw new RetryLater({ afterSeconds: 30 }, { scope: "account" });
    });
    await receiver.start();
    await send(mailsOf(1, ...many(500)));
    await send(mailsOf(2, "a", "b"));
    await pass();
    expect(tried.filter((account) => account === 2)).toHaveLength(2);
    const refused = tried.length - 2;
    expect(refused).toBeGreaterThanOrEqual(1);
    expect(refused).toBeLessThanOrEqual(3);
    expect((await receiver.health()).problems).toContainEqual(expect.objectContaining({ code: "account-delayed" }));
    isLimited = false;
    await clock.advance(29_000);
    await turns();
    expect(tried).toHaveLength(refused + 2);
    await pass(1_001);
    await receiver.idle();
    expect(tried).toHaveLength(refused + 2 + 500);
    expect((await receiver.health()).problems.map(({ code }) => code)).not.toContain("account-delayed");
  });

  test("lasts at most a day, and the latest time that was asked for", async () => {
    const { receiver, send, pass, clock } = rig({ concurrency: 2 });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler, { retryForMs: Infinity });
    await receiver.start();
    await send(mailsOf(1, "a", "b", "c"));
    await pass();
    calls[0]?.fail(new RetryLater({ afterSeconds: 3_600 * 48 }, { scope: "account" }));
    await pass();
    calls[1]?.fail(new RetryLater({ afterSeconds: 1 }, { scope: "account" }));
    await pass(2_000);
    expect(calls).toHaveLength(2);
    await clock.advance(24 * 3_600_000 - 2_001);
    await turns();
    expect(calls).toHaveLength(2);
    await pass(2);
    expect(calls.map(({ event }) => idOf(event))).toContain("c");
  });

  test("is of one consumer", async () => {
    const { receiver, send, pass } = rig();
    const seen: string[] = [];
    receiver.on("email", () => {
      throw new RetryLater({ afterSeconds: 30 }, { scope: "account" });
    });
    receiver.on("email", (event) => void seen.push(event.id), { consumer: "crm" });
    await receiver.start();
    await send(mailsOf(1, "a", "b"));
    await pass();
    expect(seen).toEqual(["a", "b"]);
  });

  test("is what a 429 of the service means that was about the account", async () => {
    const { receiver, send, pass } = rig({ concurrency: 1 });
    const tried: string[] = [];
    const facts = { status: 429, retryAfterMs: 30_000 };
    receiver.on("email", (event) => {
      tried.push(`${event.accountId} ${event.id}`);
      throw new RateLimited("service-rate-limited", "429", { ...facts, ofAccount: event.accountId === 1 });
    });
    await receiver.start();
    await send(mailsOf(1, "a", "b", "c"));
    await send(mailsOf(2, "a", "b", "c"));
    await pass(29_000);
    expect(tried.toSorted()).toEqual(["1 a", "2 a", "2 b", "2 c"]);
  });

  test("lasts at least 100 ms, as for a job", async () => {
    const { receiver, send, pass } = rig({ concurrency: 1 });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(mailsOf(1, "a", "b"));
    await pass();
    calls[0]?.fail(new RetryLater({ afterMs: 1 }, { scope: "account" }));
    await pass(99);
    expect(calls).toHaveLength(1);
    await pass(2);
    expect(calls).toHaveLength(2);
  });

  test("starts no job twice, whenever it ends", async () => {
    for (let afterMs = 100; afterMs < 600; afterMs += 10) {
      const base = fakeClock();
      // Each look at the clock takes 50 ms once a call has failed.
      const slow = { step: 0, passed: 0 };
      const clock = { ...base, now: () => base.now() + (slow.passed += slow.step) } as FakeClock;
      const { receiver, send, pass } = rig({ clock, concurrency: 2, gaps: false });
      const { calls, handler } = heldHandler();
      receiver.on("email", handler, { merge: false });
      await receiver.start();
      await send(mailsOf(1, "a", "b", "c", "d"));
      await pass();
      slow.step = 50;
      calls[0]?.fail(new RetryLater({ afterMs }, { scope: "account" }));
      await pass();
      calls[1]?.end();
      for (let round = 0; round < 8; round += 1) {
        await pass(100);
        calls.forEach(({ end }) => end());
      }
      await pass();
      expect(calls.map(({ event }) => idOf(event)).toSorted(), `${afterMs} ms`).toEqual(["a", "a", "b", "c", "d"]);
    }
  });

  test("another scope is refused", () => {
    expect(() => new RetryLater({ afterMs: 1 }, { scope: "all" as "job" })).toThrow(/"job" or "account"/u);
  });
});

describe("a pause", () => {
  test("of a consumer starts nothing more, and gives back what was claimed; deliveries are stored and merge", async () => {
    const { receiver, send, pass } = rig({ concurrency: 2 });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(mailsOf(1, "a", "b", "c", "d"));
    await pass();
    await receiver.flow.pause({ consumer: "default" }, { reason: "the CRM is down" });
    await pass();
    for (const call of calls) call.end();
    await send(mailsOf(1, "c"));
    await send(mailsOf(1, "c"));
    await pass(600_000);
    expect(calls).toHaveLength(2);
    const { waiting, pausedWaiting, oldestWaitingMs, problems, ready, live } = await receiver.health();
    expect({ waiting, pausedWaiting, oldestWaitingMs, ready, live }).toEqual({
      waiting: 4,
      pausedWaiting: 4,
      oldestWaitingMs: 0,
      ready: true,
      live: true,
    });
    expect(problems.map(({ code }) => code)).toEqual(["paused"]);
    expect(problems[0]?.message).toContain("the CRM is down");
    await expect(receiver.flow.paused()).resolves.toMatchObject([
      { consumer: "default", reason: "the CRM is down", waiting: 4 },
    ]);
    await expect(receiver.flow.resume({ consumer: "default" })).resolves.toEqual({ resumed: true });
    await pass();
    expect(calls.map(({ event, ctx }) => [idOf(event), ctx.merged]).slice(2)).toEqual([
      ["c", 3],
      ["d", 1],
    ]);
    await expect(receiver.flow.paused()).resolves.toEqual([]);
    await expect(receiver.flow.resume({ consumer: "default" })).resolves.toEqual({ resumed: false });
  });

  test("of an account, or of one of a consumer, leaves the others alone", async () => {
    const { receiver, send, pass, seen } = recording();
    receiver.on("email", (event) => void seen.push(`crm ${event.accountId} ${event.id}`), { consumer: "crm" });
    await receiver.flow.pause({ accountId: 1 }, { reason: "floods us" });
    await receiver.flow.pause({ accountId: 2, consumer: "crm" }, { reason: "no licence" });
    await receiver.start();
    await send(mailsOf(1, "a"));
    await send(mailsOf(2, "a"));
    await send(mailsOf(3, "a"));
    await pass();
    expect(seen).toEqual(["2 a", "3 a", "crm 3 a"]);
    await receiver.flow.resume({ accountId: 2, consumer: "crm" });
    await receiver.flow.resume({ accountId: 1 });
    await pass();
    expect(seen.toSorted()).toEqual(["1 a", "2 a", "3 a", "crm 1 a", "crm 2 a", "crm 3 a"]);
  });

  test("ends by itself at `until`", async () => {
    const { receiver, send, pass, seen, clock } = recording();
    await receiver.start();
    await receiver.flow.pause({ accountId: 1 }, { reason: "import", until: new Date(clock.now() + 60_000) });
    await send(mailsOf(1, "a"));
    await pass(59_000);
    expect(seen).toEqual([]);
    await pass(1_001);
    expect(seen).toEqual(["1 a"]);
    await expect(receiver.flow.resume({ accountId: 1 })).resolves.toEqual({ resumed: false });
  });

  test("does not use up retries unseen: each job has an attempt after it, longer than `retryForMs` as it was", async () => {
    const { receiver, send, pass, seen } = recording();
    const failed = new Set<string>();
    receiver.on(
      "email",
      (event) => {
        if (failed.size === 2) return void seen.push(event.id);
        failed.add(event.id);
        throw new Error("no");
      },
      { consumer: "crm", retryForMs: 10_000 },
    );
    await receiver.start();
    await receiver.flow.pause({ consumer: "default" }, { reason: "not of this test" });
    await send(mailsOf(1, "a", "b"));
    await pass();
    expect(failed.size).toBe(2);
    await receiver.flow.pause({ consumer: "crm" }, { reason: "a long day" });
    await pass(3 * 24 * 3_600_000);
    expect((await receiver.health()).dead).toBe(0);
    await receiver.flow.resume({ consumer: "crm" });
    await pass();
    expect(seen.toSorted()).toEqual(["a", "b"]);
  });

  test("rings no alert, whatever else waits or does not", async () => {
    const { receiver, send, pass } = recording();
    await receiver.start();
    await receiver.flow.pause({ accountId: 1 }, { reason: "import" });
    await send(mailsOf(1, ...many(30)));
    for (let minute = 0; minute < 20; minute += 1) await pass(60_000);
    const { problems } = await receiver.health();
    expect(problems.map(({ code }) => code)).toEqual(["paused"]);
    await receiver.idle();
  });

  test("of a consumer that nobody registered is stored, and warned of", async () => {
    const { receiver, log } = recording();
    await receiver.flow.pause({ consumer: "other" }, { reason: "another process has it" });
    expect(log.of("flow-consumer-unknown")).toHaveLength(1);
    await expect(receiver.flow.paused()).resolves.toHaveLength(1);
  });

  test.each([
    [{}],
    [undefined],
    [{ accountId: "1" }],
    [{ accountId: 1.5 }],
    [{ consumer: "" }],
    [{ consumer: 7 }],
    [{ account: 1 }],
  ])("of %j is refused", async (what) => {
    const { receiver } = recording();
    await isInvalid(receiver.flow.pause(what as object, { reason: "x" }), "flow-invalid");
    await isInvalid(receiver.flow.resume(what as object), "flow-invalid");
  });

  test("has a reason of 1,000 characters at most, and no half of one", async () => {
    const { receiver } = rig();
    await receiver.flow.pause({ accountId: 1 }, { reason: `${"x".repeat(999)}\u{1F4EC}` });
    expect(await receiver.flow.paused()).toMatchObject([{ reason: "x".repeat(999) }]);
  });

  test("without a reason, or with an end that has passed, is refused", async () => {
    const { receiver, clock } = recording();
    await isInvalid(receiver.flow.pause({ accountId: 1 }, { reason: "" }), "flow-invalid");
    const until = new Date(clock.now() - 1);
    await isInvalid(receiver.flow.pause({ accountId: 1 }, { reason: "x", until }), "flow-invalid");
    await isInvalid(
      receiver.flow.pause({ accountId: 1 }, { reason: "x", until: new Date(Number.NaN) }),
      "flow-invalid",
    );
  });

  test("is refused where nothing can wait", async () => {
    const receiver = createReceiver({ secret: "s", inbox: forwardInbox(async () => {}), log: false });
    await isInvalid(receiver.flow.pause({ accountId: 1 }, { reason: "x" }), "flow-unsupported");
    await isInvalid(receiver.flow.resume({ accountId: 1 }), "flow-unsupported");
    await isInvalid(receiver.flow.paused(), "flow-unsupported");
    const { pauses: _, ...own } = memoryInbox() as unknown as Record<string, unknown>;
    const other = createReceiver({ secret: "s", inbox: own as never, log: false });
    await isInvalid(other.flow.pause({ accountId: 1 }, { reason: "x" }), "flow-unsupported");
  });
});
