import { describe, expect, test } from "vitest";
import { deferred, turns } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { emails, heldHandler, idOf, recordingHandler, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

describe("a settle that the inbox rejects", () => {
  test("is tried again until it is taken, and the lane stays closed meanwhile", async () => {
    let broken = true;
    let tries = 0;
    const inbox = stubInbox((own) => ({
      settle(settlements) {
        tries += 1;
        return broken ? Promise.reject(new Error("full disk")) : own.settle(settlements);
      },
    }));
    const { receiver, send, pass, log } = rig({ inbox });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler, { merge: false });
    await receiver.start();
    await send(emails("a", "a", "b"));
    await turns();
    calls[0]?.end();
    await pass(3_500);
    expect([tries, calls.map(({ event }) => idOf(event))]).toEqual([4, ["a", "b"]]);
    expect(receiver.stats().succeeded).toBe(0);
    expect(log.of("settle-failed")).toHaveLength(4);
    broken = false;
    await pass(1_000);
    expect(calls.map(({ event }) => idOf(event))).toEqual(["a", "b", "a"]);
    expect(receiver.stats().succeeded).toBe(1);
  });

  test.each([undefined, null, 7])("or answers with %s is tried again until it is taken", async (nothing) => {
    let broken = true;
    const inbox = stubInbox((own) => ({
      settle: async (settlements) => (broken ? (nothing as never) : own.settle(settlements)),
    }));
    const { receiver, send, pass, log } = rig({ inbox });
    receiver.on("email", () => {});
    await receiver.start();
    await send(emails("a"));
    await pass(1_500);
    expect(log.of("settle-failed")[0]?.facts).toMatchObject({
      err: { message: expect.stringContaining("expected a list") },
    });
    broken = false;
    await pass(1_000);
    expect(receiver.stats().succeeded).toBe(1);
  });

  test("does not run the handler again", async () => {
    let broken = true;
    const inbox = stubInbox((own) => ({
      settle: (settlements) => (broken ? Promise.reject(new Error("full disk")) : own.settle(settlements)),
    }));
    const { receiver, send, pass } = rig({ inbox });
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a"));
    await pass(60_000);
    broken = false;
    await pass(1_000);
    expect(seen).toEqual(["a"]);
  });

  test("that was written all the same is a lost claim the next time: nothing is counted twice", async () => {
    let first = true;
    const inbox = stubInbox((own) => ({
      async settle(settlements) {
        const settled = await own.settle(settlements);
        if (!first) return settled;
        first = false;
        throw new Error("the answer was lost");
      },
    }));
    const { receiver, send, pass } = rig({ inbox });
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a"));
    await pass(5_000);
    await receiver.idle();
    expect([seen, receiver.stats().succeeded]).toEqual([["a"], 0]);
  });

  test("that says nothing of a settlement counts as rejected", async () => {
    let silent = true;
    const inbox = stubInbox((own) => ({ settle: async (settlements) => (silent ? [] : own.settle(settlements)) }));
    const { receiver, send, pass } = rig({ inbox });
    receiver.on("email", () => {});
    await receiver.start();
    await send(emails("a"));
    await pass(1_500);
    expect(receiver.stats().succeeded).toBe(0);
    silent = false;
    await pass(1_000);
    expect(receiver.stats().succeeded).toBe(1);
  });

  test("for ever does not keep close() beyond its time", async () => {
    const inbox = stubInbox(() => ({ settle: () => Promise.reject(new Error("full disk")) }));
    const { receiver, send, pass } = rig({ inbox });
    receiver.on("email", () => {});
    await receiver.start();
    await send(emails("a"));
    await turns();
    let closed = false;
    void receiver.close({ drainMs: 10_000 }).then(() => (closed = true));
    await pass(12_000);
    expect(closed).toBe(true);
  });
});

describe("an inbox that fails to", () => {
  test.each(["claim", "unexpanded", "expand"] as const)(
    "%s is asked again after a second, and nothing is lost",
    async (verb) => {
      let failures = 2;
      const inbox = stubInbox((own) => ({
        [verb]: (...given: never[]) => {
          failures -= 1;
          if (failures >= 0) return Promise.reject(new Error("locked"));
          return (own[verb] as (...given: never[]) => Promise<unknown>)(...given);
        },
      }));
      const { receiver, send, pass, log } = rig({ inbox });
      const { seen, handler } = recordingHandler();
      receiver.on("email", handler);
      await send(emails("a", "b"));
      await receiver.start();
      await pass(500);
      expect(seen).toEqual([]);
      expect(log.of("inbox-failed")).toMatchObject([{ level: "error", facts: { err: { message: "locked" } } }]);
      await pass(2_000);
      await receiver.idle();
      expect(seen).toEqual(["a", "b"]);
    },
  );

  test("keep makes the answer 503, and later ones come before it when it is redelivered", async () => {
    let failures = 1;
    const inbox = stubInbox((own) => ({
      store: (deliveries) => (failures-- > 0 ? Promise.reject(new Error("locked")) : own.store(deliveries)),
    }));
    const { receiver, send, offer } = rig({ inbox });
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    await receiver.start();
    expect(await offer(emails("a"))).toMatchObject({ status: 503 });
    await send(emails("b"));
    await send(emails("a"));
    await receiver.idle();
    expect(seen).toEqual(["b", "a"]);
  });

  test("close is logged, and close() resolves", async () => {
    const inbox = stubInbox(() => ({ close: () => Promise.reject(new Error("locked")) }));
    const { receiver, log } = rig({ inbox });
    await receiver.start();
    await receiver.close();
    expect(log.of("inbox-close-failed")).toMatchObject([{ level: "error" }]);
  });
});

const thrown = (): unknown => Promise.reject(new Error("no connection"));
const how: Record<string, () => Promise<never>> = {
  throws() {
    throw thrown();
  },
  "rejects with": () => Promise.reject(thrown()),
};

test.each(
  (["store", "unexpanded", "expand", "claim", "settle"] as const).flatMap((verb) =>
    Object.keys(how).map((way) => [verb, way] as const),
  ),
)("a `%s` that %s a promise, as where `await` is missing, ends nothing: it is tried again", async (verb, way) => {
  let left = 1;
  const inbox = stubInbox((own) => ({
    [verb]: (...given: never[]) => (left-- > 0 ? how[way]?.() : (own[verb] as (...all: never[]) => unknown)(...given)),
  }));
  const { receiver, offer, send, pass } = rig({ inbox, gaps: false });
  const { seen, handler } = recordingHandler();
  receiver.on("email", handler);
  if (verb === "store") await offer(emails("a"));
  await send(emails("a"));
  await receiver.start();
  await pass(2_000);
  await pass(2_000);
  expect([seen, left]).toEqual([["a"], expect.any(Number)]);
  expect(left).toBeLessThan(1);
});

test.each([
  ["once is asked again at once", 1, [1, 1]],
  ["twice is asked again after a second", 2, [0, 1]],
])("an inbox that gives nothing though by its word something is due %s", async (_, times, handled) => {
  let left = 0;
  const clock = fakeClock();
  const inbox = stubInbox((own) => ({
    claim: async (limits) => (left-- > 0 ? { claims: [], suspects: false, nextDueAt: clock.now() } : own.claim(limits)),
  }));
  const { receiver, send, pass } = rig({ inbox, clock, gaps: false });
  const { seen, handler } = recordingHandler();
  receiver.on("email", handler);
  await receiver.start();
  await receiver.idle();
  left = times;
  await send(emails("a"));
  await pass();
  const atOnce = seen.length;
  await pass(1_000);
  expect([atOnce, seen.length]).toEqual(handled);
});

test("an inbox that gives nothing once, though by its word something is due, is not idle before that is handled", async () => {
  let left = 0;
  const clock = fakeClock();
  const inbox = stubInbox((own) => ({
    claim: async (limits) => (left-- > 0 ? { claims: [], suspects: false, nextDueAt: clock.now() } : own.claim(limits)),
  }));
  const { receiver, send } = rig({ inbox, clock, gaps: false });
  const { seen, handler } = recordingHandler();
  receiver.on("email", handler);
  await receiver.start();
  await receiver.idle();
  left = 1;
  await send(emails("a"));
  await receiver.idle();
  expect(seen).toEqual(["a"]);
});

describe("a claim that was lost", () => {
  test("aborts its handler's signal, and what the handler comes to does not count", async () => {
    const { receiver, send, inbox } = rig();
    const { calls, handler, last } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a"));
    await turns();
    expect((await inbox.jobs.erase(2002)).count).toBe(1);
    expect(last().ctx.signal.reason).toMatchObject({ code: "claim-lost" });
    last().end();
    await receiver.idle();
    expect(receiver.stats()).toMatchObject({ succeeded: 0, failed: 0 });
    expect([calls.length, inbox.stats().running]).toEqual([1, 0]);
  });

  test("before its handler began keeps it from beginning", async () => {
    const { receiver, send, inbox } = rig({ concurrency: 1 });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("other").replace("2002", "7"));
    await turns();
    await send(emails(...Array.from({ length: 10 }, (_, index) => `m-${index}`)));
    await turns();
    expect(inbox.stats().running).toBeGreaterThan(1);
    expect((await inbox.jobs.erase(2002)).count).toBe(10);
    await send(emails("newer").replace("2002", "7"));
    calls[0]?.end();
    await turns();
    expect(calls.map(({ event }) => idOf(event))).toEqual(["other", "newer"]);
    calls[1]?.end();
    await receiver.idle();
    expect(receiver.stats().succeeded).toBe(2);
  });

  test("while the inbox hands it out keeps it from beginning too", async () => {
    const inbox = stubInbox((own) => ({
      async claim(limits) {
        const claimed = await own.claim(limits);
        if (claimed.claims.length > 0) await own.jobs.erase(2002);
        return claimed;
      },
    }));
    const { receiver, send } = rig({ inbox });
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a"));
    await receiver.idle();
    expect(seen).toEqual([]);
  });
});

test("a delivery that was stored although the inbox rejected it is handled at once", async () => {
  const inbox = stubInbox((own) => ({
    async store(deliveries) {
      await own.store(deliveries);
      throw new Error("connection lost after COMMIT");
    },
  }));
  const { receiver, offer, pass } = rig({ inbox, gaps: false });
  const { seen, handler } = recordingHandler();
  receiver.on("email", handler);
  await receiver.start();
  await pass();
  expect(await offer(emails("a"))).toMatchObject({ status: 503 });
  await pass();
  expect(seen).toEqual(["a"]);
});

test("after a claim that failed, what waits beside a long handler starts too", async () => {
  let isBroken = true;
  const inbox = stubInbox((own) => ({
    claim(limits) {
      if (!isBroken) return own.claim(limits);
      isBroken = false;
      return Promise.reject(new Error("no answer"));
    },
  }));
  const { receiver, send, pass } = rig({ inbox, gaps: false });
  const seen: string[] = [];
  const held = deferred();
  receiver.on("email", async (event) => {
    seen.push(String(idOf(event)));
    await held.promise;
  });
  await send(emails("a", "b", "c"));
  await receiver.start();
  await pass(2_000);
  expect(seen).toEqual(["a", "b", "c"]);
  held.resolve();
  await receiver.idle();
});
