import PQueue from "p-queue";
import { describe, expect, test, vi } from "vitest";
import { turns, until } from "../support/event-loop.ts";
import { bodyOf, change } from "../support/make-delivery.ts";
import { emails, heldHandler, idOf, rig } from "../support/rig.ts";

describe("p-queue", () => {
  test("never holds more than twice the concurrency, however long the backlog", async () => {
    const held: number[] = [];
    const add = PQueue.prototype.add;
    const spy = vi.spyOn(PQueue.prototype, "add").mockImplementation(function (this: PQueue, ...given) {
      const added = add.apply(this, given as never) as never;
      held.push(this.size + this.pending);
      return added;
    });
    try {
      const { receiver, send } = rig({ concurrency: 3 });
      const { calls, handler } = heldHandler();
      receiver.on("email", handler);
      await send(emails(...Array.from({ length: 200 }, (_, index) => `m-${index}`)));
      await receiver.start();
      for (let ended = 0; ended < 200; ended += 1) {
        await until(() => calls.length > ended);
        expect(calls.length - ended).toBeLessThanOrEqual(3);
        calls[ended]?.end();
      }
      await receiver.idle();
      expect(held.length).toBeGreaterThan(0);
      expect(Math.max(...held)).toBeLessThanOrEqual(6);
    } finally {
      spy.mockRestore();
    }
  });
});

describe("claiming", () => {
  test("goes no further ahead than twice the concurrency while handlers are slow: the backlog stays in the inbox", async () => {
    const { receiver, send, inbox } = rig({ concurrency: 4 });
    const { handler } = heldHandler();
    receiver.on("email", handler);
    await send(emails(...Array.from({ length: 100 }, (_, index) => `m-${index}`)));
    await receiver.start();
    await turns();
    expect(inbox.stats()).toMatchObject({ running: 8, waiting: 92 });
  });

  test("goes further ahead while handlers are fast, never beyond 512", async () => {
    const asked: number[] = [];
    const { receiver, send, inbox } = rig({ concurrency: 4 });
    const claim = inbox.claim.bind(inbox);
    vi.spyOn(inbox, "claim").mockImplementation((limits) => {
      asked.push(limits.max);
      return claim(limits);
    });
    receiver.on("email", () => {});
    for (let part = 0; part < 5; part += 1)
      await send(emails(...Array.from({ length: 1_000 }, (_, index) => `m-${part}-${index}`)));
    await receiver.start();
    await receiver.idle();
    expect(Math.max(...asked)).toBeGreaterThan(8);
    expect(Math.max(...asked)).toBeLessThanOrEqual(512);
    // All that was due had been claimed before: it asks for as many as started at the last moment.
    expect(asked.at(-1)).toBe(512);
    expect(receiver.stats().succeeded).toBe(5_000);
  });

  test("goes as far ahead as it must where handlers are faster than claims: on a slow disk", async () => {
    const { receiver, send, inbox, clock } = rig({ concurrency: 4 });
    let claims = 0;
    const claim = inbox.claim.bind(inbox);
    vi.spyOn(inbox, "claim").mockImplementation(async (limits) => {
      claims += 1;
      await new Promise<void>((resolve) => void clock.setTimer(resolve, 100));
      return claim(limits);
    });
    receiver.on("email", () => {});
    for (let part = 0; part < 5; part += 1)
      await send(emails(...Array.from({ length: 1_000 }, (_, index) => `m-${part}-${index}`)));
    await receiver.start();
    while (receiver.stats().succeeded < 5_000) {
      await turns(10);
      await clock.advance(100);
    }
    // 8, 16, 32 and so on until 512.
    expect(claims).toBeLessThan(20);
  });

  test("forgets how far that was when handlers have caught up", async () => {
    const { receiver, send, inbox, clock } = rig({ concurrency: 4 });
    const { handler } = heldHandler();
    let isSlow = false;
    receiver.on("email", (event, ctx) => (isSlow ? handler(event, ctx) : undefined));
    await send(emails(...Array.from({ length: 1_000 }, (_, index) => `m-${index}`)));
    await receiver.start();
    await receiver.idle();
    await clock.advance(200);
    isSlow = true;
    await send(emails(...Array.from({ length: 100 }, (_, index) => `slow-${index}`)));
    await turns();
    expect(inbox.stats()).toMatchObject({ running: 8, waiting: 92 });
  });
});

describe("100,000 jobs", () => {
  test("drain without stopping the loop", async () => {
    const { receiver, send } = rig();
    let handled = 0;
    let others = 0;
    let most = 0;
    let since = 0;
    receiver.on("email", () => {
      handled += 1;
      since += 1;
    });
    for (let part = 0; part < 100; part += 1)
      await send(bodyOf({ payloads: Array.from({ length: 1_000 }, (_, index) => change(`m-${part}-${index}`)) }));
    await receiver.start();
    let done = false;
    void receiver.idle().then(() => (done = true));
    while (!done) {
      await turns(1);
      others += 1;
      most = Math.max(most, since);
      since = 0;
    }
    expect(handled).toBe(100_000);
    expect(receiver.stats().succeeded).toBe(100_000);
    // Between two turns of the loop no more run than can be claimed ahead, and what the turn before it had no time for.
    expect(most).toBeLessThanOrEqual(2 * 512);
    expect(others).toBeGreaterThan(100_000 / 512);
  });

  test("of one lane do not hold up a cold one beside it", async () => {
    const { receiver, send } = rig({ concurrency: 2 });
    const seen: string[] = [];
    receiver.on("email", (event) => seen.push(idOf(event)), {
      merge: false,
      lane: (event) => (idOf(event).startsWith("cold") ? idOf(event) : "hot"),
    });
    for (let part = 0; part < 20; part += 1)
      await send(emails(...Array.from({ length: 1_000 }, (_, index) => `hot-${part}-${index}`)));
    await send(emails("cold-1", "cold-2"));
    await receiver.start();
    await receiver.idle();
    expect(seen).toHaveLength(20_002);
    // The hot lane runs one a claim: the cold ones come as soon as they are expanded.
    expect(Math.max(seen.indexOf("cold-1"), seen.indexOf("cold-2"))).toBeLessThan(2_000);
  });
});
