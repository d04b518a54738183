import type { SeenOptions, SeenStore } from "hookline";
import { describe, expect, test } from "vitest";
import { toStored } from "../../src/inbox/port/delivery.ts";
import { deferred, turns, watch } from "../support/event-loop.ts";
import { bodyOf, makeDelivery, signedRequest } from "../support/make-delivery.ts";
import { emails, heldHandler, idOf, recordingHandler, rig, type RigOptions } from "../support/rig.ts";

const ANSWERING = { answer: "after-handlers", timeoutMs: 20_000 } as const;

describe("handlers without an inbox, with a store of what was seen", () => {
  test("run once, however often a queue's message comes; the repetition is a duplicate", async () => {
    const { handle, receiver } = answering();
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler).on("email", handler, { consumer: "other" });
    await handle(emails("a", "b"));
    await handle(emails("a", "b"));
    expect(seen).toEqual(["a", "a", "b", "b"]);
    expect(receiver.stats()).toMatchObject({ succeeded: 4, duplicates: 4, failed: 0 });
  });

  test("an equal message with another id is another edit of the same second", async () => {
    const { handle, receiver } = answering();
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    await handle(emails("a", "b"));
    await handle(emails("a", "b"), {}, "d-2");
    expect(seen).toEqual(["a", "b", "a", "b"]);
  });

  test("an equal request, after the delivery was answered 200, is another edit of the same second", async () => {
    const { ask, receiver } = answering();
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    expect([await ask(emails("a", "b")), await ask(emails("a", "b"))]).toEqual([200, 200]);
    expect(seen).toEqual(["a", "b", "a", "b"]);
  });

  test("an edit is handled after it was made, at whatever point of an equal delivery it comes", async () => {
    // Where a delivery stands: before each call of the store, and before each handler.
    for (let point = 1; point <= 10; point += 1) {
      const second: Promise<number>[] = [];
      let reached = 0;
      const handledAfter = new Set<string>();
      const look = (): void => {
        reached += 1;
        if (reached !== point) return;
        handledAfter.clear();
        second.push(ask(emails("a", "b")));
      };
      const plain = memoryStore();
      const { ask, receiver } = answering(
        {},
        {
          claim: (...call) => (look(), plain.claim(...call)),
          settle: (...call) => (look(), plain.settle(...call)),
        },
      );
      receiver.on("email", (event) => {
        look();
        handledAfter.add(idOf(event));
      });
      expect(await ask(emails("a", "b"))).toBe(200);
      for (const answer of second) if ((await answer) !== 200) expect(await ask(emails("a", "b"))).toBe(200);
      if (second.length > 0) expect([point, [...handledAfter].toSorted()]).toEqual([point, ["a", "b"]]);
    }
  });

  test("after a failure only what failed runs again", async () => {
    const { ask, receiver } = answering();
    let fails = true;
    const { seen, handler } = recordingHandler((event) => {
      if (fails && idOf(event) === "a") throw new Error("no");
    });
    receiver.on("email", handler);
    expect(await ask(emails("a", "b"))).toBe(503);
    fails = false;
    expect(await ask(emails("a", "b"))).toBe(200);
    expect(seen).toEqual(["a", "b", "a"]);
    expect(await ask(emails("a", "b")), "another edit").toBe(200);
    expect(seen).toEqual(["a", "b", "a", "a", "b"]);
  });

  test("while another process handles an event the delivery is refused, and handle() says why", async () => {
    const store = memoryStore();
    const [one, other] = [answering({}, store), answering({}, store)];
    const { calls, handler } = heldHandler();
    const { seen, handler: never } = recordingHandler();
    one.receiver.on("email", handler);
    other.receiver.on("email", never);
    const asked = watch(one.ask(emails("a")));
    const handled = watch(one.handle(emails("b")));
    await turns();
    expect(await other.ask(emails("a"))).toBe(503);
    await expect(other.handle(emails("b"))).rejects.toMatchObject({ code: "seen-busy" });
    for (const { end } of calls) end();
    await turns();
    expect([asked.value, handled.ended, handled.error]).toEqual([200, true, undefined]);
    await other.handle(emails("b"));
    expect(seen).toEqual([]);
  });

  test("a claim that fails, hangs or is no answer refuses the delivery: nothing runs unseen", async () => {
    const down = new Error("down");
    const throwing = (): never => {
      throw down;
    };
    const throwingPromise = (): never => {
      throw Promise.reject(down) as unknown;
    };
    for (const claim of [throwing, throwingPromise, () => Promise.reject(down), () => "perhaps" as never]) {
      const { ask, handle, receiver } = answering({}, { ...memoryStore(), claim });
      const { seen, handler } = recordingHandler();
      receiver.on("email", handler);
      expect(await ask(emails("a"))).toBe(503);
      await expect(handle(emails("a"))).rejects.toMatchObject({
        code: "handle-failed",
        cause: { code: "seen-failed" },
      });
      expect(seen).toEqual([]);
    }
    const hanging = answering({ concurrency: 1 }, { ...memoryStore(), claim: () => new Promise(() => {}) });
    hanging.receiver.on("email", () => {});
    const answer = watch(hanging.ask(emails("a")));
    const next = watch(hanging.ask(emails("a")));
    await hanging.pass(5_000);
    await hanging.pass(5_000);
    expect([answer.value, next.value]).toEqual([503, 503]);
  });

  test("a settle that fails is logged, and the answer stays 200: the event may run again", async () => {
    const { ask, receiver, log } = answering({}, { ...memoryStore(), settle: () => Promise.reject(new Error("down")) });
    receiver.on("email", () => {});
    expect(await ask(emails("a"))).toBe(200);
    expect(log.of("seen-failed")).toMatchObject([{ level: "error", facts: { err: { message: "down" } } }]);
  });

  test("a settle that throws a promise, as where `await` is missing, is one that fails", async () => {
    const settle = (): never => {
      throw Promise.reject(new Error("down")) as unknown;
    };
    const { ask, receiver, log } = answering({}, { ...memoryStore(), settle });
    receiver.on("email", () => {});
    expect(await ask(emails("a"))).toBe(200);
    expect(log.of("seen-failed")).toHaveLength(1);
  });

  test("a claim that is answered too late is given back", async () => {
    const plain = memoryStore();
    const late = deferred();
    const { ask, pass, receiver } = answering(
      {},
      { ...plain, claim: async (...call) => late.promise.then(() => plain.claim(...call)) },
    );
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    const answer = watch(ask(emails("a")));
    await pass(5_000);
    expect(answer.value).toBe(503);
    late.resolve();
    await turns();
    expect(await ask(emails("a"))).toBe(200);
    expect(seen).toEqual(["a"]);
  });

  test("what was done in a delivery that took too long does not run again", async () => {
    const { ask, receiver, pass } = answering();
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    const late = watch(ask(emails("a", "b")));
    await turns();
    calls[0]?.end();
    await turns();
    await pass(20_000);
    expect(late.value).toBe(503);
    calls[1]?.end(); // it does its work, whatever its signal says
    await turns();
    expect(await ask(emails("a", "b"))).toBe(200);
    expect(calls.map(({ event }) => idOf(event))).toEqual(["a", "b"]);
  });

  test("an edit whose delivery waits while an equal one is completed is handled", async () => {
    const store = memoryStore();
    const [one, other] = [answering({}, store), answering({ concurrency: 1 }, store)];
    const held = heldHandler();
    one.receiver.on("email", held.handler);
    const busy = heldHandler();
    const { seen, handler } = recordingHandler();
    other.receiver.on("email", (event, ctx) => (idOf(event) === "x" ? busy.handler(event, ctx) : handler(event, ctx)));
    const first = watch(one.ask(emails("a", "b", "c")));
    await turns();
    for (const at of [0, 1]) {
      held.calls[at]?.end(); // "a" is done, "b" has ended, "c" runs
      await turns();
    }
    const edit = watch(other.ask(emails("a", "b", "c"))); // "a" was done before it
    const between = watch(other.ask(emails("x")));
    await turns();
    held.calls[2]?.end();
    await turns();
    expect(first.value).toBe(200);
    busy.calls[0]?.end();
    await turns();
    expect([between.value, edit.value]).toEqual([200, 503]);
    expect(await other.ask(emails("a", "b", "c"))).toBe(200);
    expect(seen.toSorted()).toEqual(expect.arrayContaining(["a", "b", "c"]));
  });

  test("a handler that ignores its signal keeps its claim until the lease ends", async () => {
    const store = memoryStore();
    const { ask, receiver, pass } = answering({ graceMs: 1_000 }, store);
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    const answer = watch(ask(emails("a")));
    await pass(21_000);
    expect(answer.value).toBe(503);
    expect(store.claims()).toEqual([
      ["claim", 31_000], // of the delivery, which ended
      ["claim", 31_000],
      ["failed", 691_200_000],
    ]);
    expect(calls).toHaveLength(1);
    calls[0]?.end();
  });

  test("the lease follows the time of the mount, or of the handler; the rest may be said", async () => {
    const store = memoryStore();
    const { ask, handle, receiver } = answering({}, store);
    receiver.on("email", () => {}, { timeoutMs: 7_000 }).on("contact", () => {}, { timeoutMs: 0 });
    await ask(emails("a"));
    await handle(emails("b"));
    await handle(emails("c"), { leaseMs: 1_234, keepMs: 60_000 });
    expect(store.claims()).toEqual([
      ["claim", 60_000], // of the delivery
      ["claim", 47_000],
      ["failed", 691_200_000],
      ["failed", 691_200_000],
      ["claim", 47_000],
      ["done", 691_200_000],
      ["claim", 1_234],
      ["done", 60_000],
    ]);
  });

  test("GiveUp counts as done", async () => {
    const { handle, receiver } = answering();
    const { GiveUp } = await import("hookline");
    const { seen, handler } = recordingHandler(() => {
      throw new GiveUp("never");
    });
    receiver.on("email", handler);
    await handle(emails("a"));
    await handle(emails("a"));
    expect(seen).toEqual(["a"]);
  });

  test.each<[string, object]>([
    ["no store", { seen: 7 }],
    ["a store without settle", { seen: { claim() {} } }],
    ["a lease of no time", { seen: memoryStore(), leaseMs: 0 }],
    ["a time that is no number", { seen: memoryStore(), keepMs: "8 days" }],
  ])("%s is refused", async (_name, options) => {
    await expect(answering().handle(emails("a"), options)).rejects.toMatchObject({ code: "option-invalid" });
  });
});

test("the same booking with other content is handled too", async () => {
  const { ask, receiver } = answering();
  const { seen, handler } = recordingHandler();
  receiver.on("booking", handler);
  const booking = { bookingId: 935, eventId: "e" };
  for (const calendarId of ["one", "two", "one"])
    expect(await ask(bodyOf({ resource: "/booking/935", payloads: [{ ...booking, calendarId }] }))).toBe(200);
  expect(seen).toHaveLength(2);
});

test.each([14_999.7, 2 ** 31 - 1])("a time limit of %d ms needs no lease", async (timeoutMs) => {
  const { receiver } = rig({ secret: "shh", gaps: false });
  const { seen, handler } = recordingHandler();
  receiver.on("email", handler);
  const request = signedRequest(emails("a"), { secret: "shh", at: new Date("2026-05-06T07:08:09Z") });
  expect(await receiver.receive(request, { answer: "after-handlers", timeoutMs })).toMatchObject({ status: 200 });
  expect(seen).toHaveLength(1);
});

function answering(options: RigOptions = {}, seen: SeenStore = memoryStore()) {
  const own = rig({ secret: "shh", gaps: false, ...options });
  return {
    ...own,
    async ask(body: string): Promise<number> {
      const request = signedRequest(body, { secret: "shh", at: new Date("2026-05-06T07:08:09Z") });
      return (await own.receiver.receive(request, { ...ANSWERING, seen })).status;
    },
    handle: (body: string, given: SeenOptions = {}, id = "d-1") =>
      own.receiver.handle(toStored(id, makeDelivery(body)), { seen, ...given }),
  };
}

/** Without a clock: what is claimed stays so, and what is done for longer than a moment. */
function memoryStore() {
  const states = new Map<string, "busy" | "done">();
  const calls: [what: string, ms: number][] = [];
  const store: SeenStore = {
    async claim(key, leaseMs) {
      calls.push(["claim", leaseMs]);
      const state = states.get(key);
      if (state !== undefined) return state;
      states.set(key, "busy");
      return "mine";
    },
    async settle(key, how, keepMs) {
      calls.push([how, keepMs]);
      if (how === "done" && keepMs > 1) states.set(key, "done");
      else states.delete(key);
    },
  };
  return { ...store, claims: () => calls };
}
