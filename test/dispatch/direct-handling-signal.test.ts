import type { Receiver } from "hookline";
import { describe, expect, test } from "vitest";
import { toStored, type StoredDelivery } from "../../src/inbox/port/delivery.ts";
import { turns, watch } from "../support/event-loop.ts";
import { makeDelivery } from "../support/make-delivery.ts";
import { emails, heldHandler, idOf, recordingHandler, rig } from "../support/rig.ts";

function stored(body: string, id = "d-1"): StoredDelivery {
  return toStored(id, makeDelivery(body));
}

describe("the signal given to receiver.handle", () => {
  const started = (receiver: Receiver, signal: AbortSignal, body = emails("a")) =>
    watch(receiver.handle(stored(body), { signal }));

  test("aborts the handler's own, with its reason, and the rest does not begin", async () => {
    const { receiver } = rig();
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    const controller = new AbortController();
    const outcome = started(receiver, controller.signal, emails("a", "b"));
    await turns();
    const reason = new Error("the queue wants it back");
    controller.abort(reason);
    expect(calls[0]?.ctx.signal.reason).toBe(reason);
    calls[0]?.fail(reason);
    await turns();
    expect(calls).toHaveLength(1);
    expect(outcome.error).toMatchObject({ code: "handle-failed" });
  });

  test("that is aborted already begins nothing", async () => {
    const { receiver } = rig();
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    const outcome = started(receiver, AbortSignal.abort(new Error("too late")));
    await turns();
    expect(seen).toEqual([]);
    expect(outcome.error).toMatchObject({ code: "handle-failed", cause: { message: "too late" } });
    expect(receiver.stats().failed).toBe(0);
  });

  test("ends the delivery when it aborts: what is left is neither looked at nor counted", async () => {
    const { receiver } = rig();
    const { calls, handler } = heldHandler();
    receiver.on("email", handler).on("email", () => {}, { consumer: "second" });
    const controller = new AbortController();
    const outcome = started(receiver, controller.signal, emails("a", "b", "c"));
    await turns();
    controller.abort(new Error("too late"));
    calls[0]?.fail(controller.signal.reason);
    await turns();
    expect(receiver.stats()).toMatchObject({ failed: 1, succeeded: 0 });
    expect(outcome.error).toMatchObject({ message: expect.stringContaining("1 of"), cause: { message: "too late" } });
  });

  test("that is aborted while an event waits for its slot keeps it from beginning", async () => {
    const { receiver } = rig({ concurrency: 1 });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    void receiver.handle(stored(emails("a"), "1"));
    const controller = new AbortController();
    const outcome = started(receiver, controller.signal, emails("b"));
    await turns();
    controller.abort(new Error("too late"));
    calls[0]?.end();
    await turns();
    expect(calls).toHaveLength(1);
    expect(outcome.error).toMatchObject({ code: "handle-failed", cause: { message: "too late" } });
  });

  test("may be a long-lived one: handlers that end at once leave nothing on it", async () => {
    const { receiver } = rig();
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    const controller = new AbortController();
    const listeners = new Set<unknown>();
    const { addEventListener, removeEventListener } = controller.signal;
    controller.signal.addEventListener = function (...given: Parameters<typeof addEventListener>) {
      listeners.add(given[1]);
      addEventListener.apply(this, given);
    };
    controller.signal.removeEventListener = function (...given: Parameters<typeof removeEventListener>) {
      listeners.delete(given[1]);
      removeEventListener.apply(this, given);
    };
    const outcome = started(receiver, controller.signal, emails("a", "b", "c"));
    await turns();
    expect([outcome, seen, listeners.size]).toEqual([{ ended: true }, ["a", "b", "c"], 0]);
  });
});

describe("the time limit of a handler that receiver.handle runs", () => {
  test("aborts its signal; what fails then fails the delivery", async () => {
    const { receiver, pass } = rig({ timeoutMs: 1_000 });
    receiver.on(
      "email",
      (_event, ctx) =>
        new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason as Error))),
    );
    const outcome = watch(receiver.handle(stored(emails("a"))));
    await pass(1_000);
    expect(outcome.error).toMatchObject({ code: "handle-failed", cause: { code: "handler-timeout" } });
  });
});

describe("beside a receiver that works on its inbox", () => {
  test("what it handles directly does not keep the inbox's jobs from running, once a slot is free", async () => {
    const { receiver, send } = rig({ concurrency: 1 });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    for (let index = 0; index < 3; index += 1) void receiver.handle(stored(emails(`direct ${index}`), String(index)));
    await turns();
    for (const id of ["a", "b", "c"]) await send(emails(id));
    for (let index = 0; index < 6; index += 1) {
      await turns();
      calls[index]?.end();
    }
    await turns();
    expect(calls.map(({ event }) => idOf(event)).toSorted()).toEqual([
      "a",
      "b",
      "c",
      "direct 0",
      "direct 1",
      "direct 2",
    ]);
  });
});
