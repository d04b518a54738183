import { describe, expect, test } from "vitest";
import { emails, heldHandler, idOf, recordingHandler, rig } from "../support/rig.ts";

describe("the time limit of an attempt", () => {
  test("aborts the handler's signal; one that heeds it has failed, and is tried again", async () => {
    const { receiver, send, pass } = rig({ timeoutMs: 1_000 });
    const reasons: unknown[] = [];
    receiver.on(
      "email",
      (_event, ctx) =>
        new Promise((_, reject) => {
          ctx.signal.addEventListener("abort", () => {
            reasons.push(ctx.signal.reason);
            reject(ctx.signal.reason as Error);
          });
        }),
      { attempts: 2 },
    );
    await receiver.start();
    await send();
    await pass(999);
    expect(reasons).toEqual([]);
    await pass(1);
    expect(reasons).toMatchObject([{ code: "handler-timeout" }]);
    await pass(10_000);
    expect(reasons).toHaveLength(2);
    expect(receiver.stats()).toMatchObject({ failed: 2, retried: 1, dead: 1 });
  });

  test("is the handler's own, else the receiver's; 0 is none", async () => {
    const { receiver, send, pass } = rig({ timeoutMs: 1_000 });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    receiver.on("email", handler, { consumer: "patient", timeoutMs: 0 });
    receiver.on("email", handler, { consumer: "quick", timeoutMs: 10 });
    await receiver.start();
    await send();
    const aborted = () => calls.map(({ ctx }) => ctx.signal.aborted);
    await pass(10);
    expect(aborted()).toEqual([false, false, true]);
    await pass(990);
    expect(aborted()).toEqual([true, false, true]);
    await pass(86_400_000);
    expect(aborted()).toEqual([true, false, true]);
  });

  test("a late success is a success", async () => {
    const { receiver, send, pass, inbox } = rig({ timeoutMs: 1_000, graceMs: 500 });
    const { calls, handler, last } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send();
    await pass(60_000);
    last().end();
    await pass();
    expect(receiver.stats()).toMatchObject({ succeeded: 1, failed: 0 });
    expect([calls.length, inbox.stats().running]).toEqual([1, 0]);
  });
});

describe("a handler that ignores its signal", () => {
  const limits = { concurrency: 1, timeoutMs: 1_000, graceMs: 500 };

  test("keeps its slot for its grace, then gives it back", async () => {
    const { receiver, send, pass, log } = rig(limits);
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a", "b"));
    await pass(1_499);
    expect(calls).toHaveLength(1);
    await pass(1);
    expect(calls.map(({ event }) => idOf(event))).toEqual(["a", "b"]);
    expect(log.of("handler-stuck")).toMatchObject([{ level: "error", facts: { event: "email.updated", stuck: 1 } }]);
  });

  test("keeps its lane and its claim as long as it runs", async () => {
    const { receiver, send, pass, inbox } = rig(limits);
    const { calls, handler } = heldHandler();
    receiver.on("email", handler, { merge: false });
    await receiver.start();
    await send(emails("a", "a"));
    await pass(3_600_000);
    expect([calls.length, inbox.stats().running]).toEqual([1, 1]);
    calls[0]?.end();
    await pass();
    expect(calls).toHaveLength(2);
    expect(receiver.stats().succeeded).toBe(1);
  });

  test("that fails at last is tried again like any other", async () => {
    const { receiver, send, pass } = rig({ ...limits, maxStuck: 0 });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send();
    await pass(60_000);
    calls[0]?.fail();
    await pass(10_000);
    expect(calls).toHaveLength(2);
    expect(receiver.stats()).toMatchObject({ failed: 1, retried: 1 });
  });

  test("gives no slot back when there are `maxStuck` of them already, and nothing more is claimed", async () => {
    const { receiver, send, pass, inbox, log } = rig({ ...limits, maxStuck: 1 });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a", "b", "c"));
    await pass(60_000);
    expect(calls.map(({ event }) => idOf(event))).toEqual(["a", "b"]);
    expect(log.of("handler-stuck").map(({ facts }) => facts["stuck"])).toEqual([1, 2]);
    await send(emails("d", "e", "f"));
    await pass(3_600_000);
    expect(calls).toHaveLength(2);
    const before = inbox.stats().running;
    await send(emails("g"));
    await pass();
    expect(inbox.stats().running).toBe(before);
  });

  test("goes on as soon as one of them ends: the one that kept its slot", async () => {
    const { receiver, send, pass } = rig({ ...limits, maxStuck: 1 });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a", "b", "c", "d", "e"));
    await pass(60_000);
    calls[1]?.end();
    await pass();
    expect(calls.map(({ event }) => idOf(event))).toEqual(["a", "b", "c"]);
    for (const call of calls) call.end();
    await pass();
    calls.at(-1)?.end();
    await pass();
    calls.at(-1)?.end();
    await receiver.idle();
    expect(receiver.stats().succeeded).toBe(5);
  });

  test("goes on too when it is the one that had given its slot back: the other gives its own back now", async () => {
    const { receiver, send, pass } = rig({ ...limits, maxStuck: 1 });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a", "b", "c", "d", "e", "f"));
    await pass(60_000);
    expect(calls).toHaveLength(2);
    calls[0]?.end();
    await pass();
    expect(calls.map(({ event }) => idOf(event))).toEqual(["a", "b", "c"]);
    calls[2]?.end();
    await pass();
    expect(calls).toHaveLength(4);
  });
});

test("a handler that blocks nothing but itself leaves the others their time", async () => {
  const { receiver, send, pass } = rig({ concurrency: 2, timeoutMs: 1_000, graceMs: 0 });
  const { seen, handler } = recordingHandler((event) => (idOf(event) === "a" ? new Promise(() => {}) : undefined));
  receiver.on("email", handler);
  await receiver.start();
  await send(emails("a", "b", "c", "d"));
  await pass();
  expect(seen).toEqual(["a", "b", "c", "d"]);
});

test("every stuck handler that gives its slot back lets the next one begin", async () => {
  const { receiver, send, pass } = rig({ concurrency: 1, maxStuck: 3, timeoutMs: 1_000, graceMs: 1_000 });
  const { calls, handler } = heldHandler();
  receiver.on("email", handler);
  await receiver.start();
  await send(emails("a", "b", "c", "d"));
  await pass();
  for (let stuck = 0; stuck < 3; stuck += 1) await pass(2_000);
  expect(calls.map(({ event }) => idOf(event))).toEqual(["a", "b", "c", "d"]);
});
