import { GiveUp, RetryLater, type AfterHandlers, type Reply } from "hookline";
import { toAfterHandlers } from "hookline/adapter";
import { describe, expect, test } from "vitest";
import { turns, until, watch } from "../support/event-loop.ts";
import { bodyOf, bookingBody, lifecycleBody, signedRequest, tracked, trackingBody } from "../support/make-delivery.ts";
import { emails, failingHandler, heldHandler, idOf, recordingHandler, rig, type RigOptions } from "../support/rig.ts";
import { unopenableInbox } from "../support/stub-inboxes.ts";

const ANSWERING: AfterHandlers = { answer: "after-handlers", timeoutMs: 20_000 };
const OK: Reply = { status: 200, headers: {}, body: "" };
const AGAIN: Reply = { status: 503, headers: { "Retry-After": "10" }, body: "" };

/** A receiver whose answers wait for its handlers. */
function answering(options: RigOptions = {}) {
  const own = rig({ secret: "shh", gaps: false, ...options });
  return {
    ...own,
    ask: (body = bodyOf(), url = "/") =>
      own.receiver.receive({ ...signedRequest(body, { secret: "shh", at: own.clock.date() }), url }, ANSWERING),
  };
}

describe("an answer after the handlers", () => {
  test("is 200 when the last of them is done, and not before", async () => {
    const { receiver, ask } = answering();
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    const answer = watch(ask(emails("a", "b")));
    await turns();
    expect([calls.length, answer.ended]).toEqual([1, false]);
    calls[0]?.end();
    await turns();
    expect([calls.length, answer.ended]).toEqual([2, false]);
    calls[1]?.end();
    await turns();
    expect(answer).toEqual({ ended: true, value: OK });
  });

  test("needs no start, and stores nothing", async () => {
    const { receiver, inbox, ask } = answering();
    receiver.on("email", () => {});
    expect(await ask()).toEqual(OK);
    expect(receiver.stats()).toMatchObject({ role: "receiving", stored: 0, succeeded: 1, answered: { 200: 1 } });
    expect(inbox.stats()).toMatchObject({ waiting: 0, unexpanded: 0 });
    expect((await receiver.jobs.list()).jobs).toEqual([]);
  });

  test("is given for its options alone: whatever else is passed, a delivery that is answered 200 is stored", async () => {
    for (const given of [{}, 7, true, () => {}, null, "after-handlers", { timeoutMs: 5_000 }, { answer: "stored" }]) {
      const { receiver, clock } = answering();
      const request = signedRequest(bodyOf(), { secret: "shh", at: clock.date() });
      const { status } = await receiver.receive(request, given as never);
      expect([given, status, receiver.stats().stored]).toEqual([given, 200, 1]);
    }
  });

  test("is 503 when a handler failed, whatever status its error carries; its siblings have run", async () => {
    const { receiver, ask, log } = answering();
    const { seen, handler } = recordingHandler((event) => {
      if (idOf(event) === "a") throw Object.assign(new Error("no"), { status: 422, statusCode: 422 });
    });
    receiver.on("email", handler);
    expect(await ask(emails("a", "b"))).toEqual(AGAIN);
    expect(seen).toEqual(["a", "b"]);
    expect(receiver.stats()).toMatchObject({ refused: { "handlers-failed": 1 }, failed: 1, succeeded: 1 });
    expect(log.of("handlers-failed")).toMatchObject([{ level: "error", facts: { err: { code: "handle-failed" } } }]);
  });

  test("remembers nothing of a delivery that failed: its redelivery runs all of it again, tracking and bookings too", async () => {
    const { receiver, ask } = answering();
    let fails = true;
    const { seen, handler } = recordingHandler(() => {
      if (fails) throw new Error("no");
    });
    receiver.on(["tracking", "booking"], handler);
    for (const body of [trackingBody(tracked(1), tracked(2)), bookingBody("e-1")]) {
      fails = true;
      expect(await ask(body)).toEqual(AGAIN);
      fails = false;
      expect(await ask(body)).toEqual(OK);
    }
    expect(seen).toHaveLength(6);
    expect(receiver.stats().duplicates).toBe(0);
  });

  test("is 200 after GiveUp, and 503 after RetryLater", async () => {
    const gaveUp = answering();
    gaveUp.receiver.on("email", failingHandler(new GiveUp("of no use")).handler);
    expect(await gaveUp.ask()).toEqual(OK);
    const later = answering();
    later.receiver.on("email", failingHandler(new RetryLater({ afterMs: 1 })).handler);
    expect(await later.ask()).toEqual(AGAIN);
  });

  test("is 503 at the deadline: signals abort", async () => {
    const { receiver, ask, clock } = answering();
    const { calls, handler } = heldHandler();
    receiver.on("email", handler, { timeoutMs: 0 });
    const answer = watch(ask(emails("a")));
    await turns();
    await clock.advance(19_999);
    expect([answer.ended, calls[0]?.ctx.signal.aborted]).toEqual([false, false]);
    await clock.advance(1);
    expect(answer.value).toEqual(AGAIN);
    expect(calls[0]?.ctx.signal.reason).toMatchObject({
      code: "handlers-late",
      message: expect.stringContaining("20000 ms"),
    });
    expect(receiver.stats()).toMatchObject({ refused: { "handlers-late": 1 }, answered: { 503: 1 } });
  });

  test("is 503 at the deadline: what has not begun does not begin", async () => {
    const { receiver, ask, clock } = answering();
    const { calls, handler } = heldHandler();
    receiver.on("email", handler, { timeoutMs: 0 });
    const names = Array.from({ length: 30 }, (_, place) => `m-${place}`);
    const answer = watch(ask(emails(...names)));
    await turns();
    await clock.advance(20_000);
    expect(answer.value).toEqual(AGAIN);
    expect(calls[0]?.ctx.signal.reason).toMatchObject({
      code: "handler-timeout",
      message: expect.stringContaining("10000 ms"),
    });
    const begun = calls.length; // each was given up, and left a quarter of the time
    expect(begun).toBeLessThan(names.length);
    for (const call of calls) call.end();
    await turns();
    expect(calls).toHaveLength(begun);
  });

  test("leaves the signals of handlers that ended in time alone", async () => {
    const { receiver, ask, clock } = answering();
    const { calls, handler } = heldHandler();
    receiver.on("email", handler, { timeoutMs: 0 });
    const answer = watch(ask());
    await turns();
    calls[0]?.end();
    await turns();
    expect(answer.value).toEqual(OK);
    expect(clock.waiting).toBe(0);
    await clock.advance(20_000);
    expect(calls[0]?.ctx.signal.aborted).toBe(false);
  });

  test("obeys the lanes of this process: it waits for one that is still running", async () => {
    const { receiver, ask } = answering();
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    const first = watch(ask(emails("a")));
    await until(() => calls.length === 1);
    const second = watch(ask(emails("a")));
    await turns();
    expect(calls).toHaveLength(1);
    calls[0]?.end();
    await turns();
    expect([first.ended, second.ended, calls.length]).toEqual([true, false, 2]);
    calls[1]?.end();
    await turns();
    expect(second.value).toEqual(OK);
  });

  test("is 200 for an event without a handler, which is logged as a warning", async () => {
    const { ask, log, receiver } = answering();
    receiver.on("email", () => {});
    expect(await ask(lifecycleBody("active"))).toEqual(OK);
    expect(await ask("no JSON")).toEqual(OK);
    expect(log.of("unhandled").length).toBeGreaterThan(0);
  });

  test("to a handshake runs nothing", async () => {
    const { receiver, ask } = answering();
    const { seen, handler } = recordingHandler();
    receiver.on("*", handler);
    expect(await ask("", "/?validationToken=abc")).toMatchObject({ status: 200, body: "abc" });
    expect(seen).toEqual([]);
  });

  test("to an unwanted subscription is 422, by the gate or by a tombstone, and runs nothing", async () => {
    const { receiver, ask } = answering();
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    receiver.unsubscribeWhen(({ accountId }, unsubscribe) => (accountId === 1 ? unsubscribe("gone") : undefined));
    expect(await ask(bodyOf({ accountId: 1 }))).toMatchObject({ status: 422 });
    await receiver.unsubscribe(1001, "gone");
    expect(await ask()).toMatchObject({ status: 422 });
    expect(seen).toEqual([]);
  });

  test("is 503 where the inbox, which knows the tombstones, cannot be opened", async () => {
    const { receiver, ask } = answering({ inbox: unopenableInbox() });
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    expect(await ask()).toEqual(AGAIN);
    expect(seen).toEqual([]);
  });

  test("counts its bytes as in flight for as long as its handlers run", async () => {
    const body = emails("a");
    const { receiver, ask } = answering({ maxInFlightBytes: body.length });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    const first = watch(ask(body));
    await turns();
    expect(await ask(body)).toEqual(AGAIN);
    expect(receiver.stats().refused).toEqual({ "intake-full": 1 });
    calls[0]?.end();
    await turns();
    expect(first.value).toEqual(OK);
    const third = watch(ask(body));
    await turns();
    calls[1]?.end();
    await turns();
    expect(third.value).toEqual(OK);
  });

  test("waits for handlers no longer than a close allows: their signals abort, and the answer is 503", async () => {
    const { receiver, ask, clock } = answering();
    receiver.on(
      "email",
      (_event, ctx) =>
        new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(new Error("stopped")))),
      { timeoutMs: 0 },
    );
    const answer = watch(ask());
    await turns();
    const closed = watch(receiver.close({ drainMs: 8_000 }));
    await clock.advance(8_000);
    await turns();
    expect(answer.value).toEqual(AGAIN);
    expect(closed.ended).toBe(true);
    expect(await ask()).toEqual(AGAIN);
  });

  test("seals the handlers", async () => {
    const { receiver, ask } = answering();
    receiver.on("email", () => {});
    await ask();
    expect(() => receiver.on("contact", () => {})).toThrow(expect.objectContaining({ code: "handlers-sealed" }));
  });
});

describe("the options `answer` and `timeoutMs` of a mount", () => {
  test("are none where the answer does not wait for handlers", () => {
    expect(toAfterHandlers({})).toBeUndefined();
  });

  test.each([1, 20_000, 2 ** 31 - 1])("take whole milliseconds up to the longest timer: %d", (timeoutMs) => {
    expect(toAfterHandlers({ answer: "after-handlers", timeoutMs })).toEqual({ answer: "after-handlers", timeoutMs });
  });

  test.each([undefined, null, 0, -1, 1.5, Number.NaN, Infinity, 2 ** 31, "20000"])(
    "refuse a time that is none, and say how to write one: %s",
    (timeoutMs) => {
      expect(() => toAfterHandlers({ answer: "after-handlers", timeoutMs })).toThrow(
        expect.objectContaining({
          code: "option-invalid",
          message: expect.stringContaining("whole milliseconds") as string,
          fix: expect.stringContaining("timeoutMs: 20_000") as string,
        }),
      );
    },
  );

  test.each([{ timeoutMs: 20_000 }, { seen: { claim: async () => "mine" as const, settle: async () => {} } }])(
    "refuse what belongs to an answer without it: %j",
    (given) => {
      expect(() => toAfterHandlers(given)).toThrow(
        expect.objectContaining({ code: "option-invalid", fix: expect.stringContaining("after-handlers") as string }),
      );
    },
  );

  test.each([null, true, "stored"])("refuse any other answer, and say what to do: %s", (answer) => {
    expect(() => toAfterHandlers({ answer, timeoutMs: 20_000 })).toThrow(
      expect.objectContaining({
        code: "option-invalid",
        message: expect.stringContaining(`got ${JSON.stringify(answer)}`) as string,
        fix: expect.stringContaining("Leave `answer` out") as string,
      }),
    );
  });
});
