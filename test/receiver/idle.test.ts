import { describe, expect, test } from "vitest";
import { turns, watch } from "../support/event-loop.ts";
import { emails, heldHandler, rig } from "../support/rig.ts";

describe("idle()", () => {
  test("does not wait for what a failing job holds up, and waits for what is due though it has no slot", async () => {
    const { receiver, send } = rig({ concurrency: 1 });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a", "b"));
    await turns();
    calls[0]?.fail();
    await send(emails("a"));
    const idle = watch(receiver.idle());
    await turns();
    expect([calls.length, idle.ended]).toEqual([2, false]);
    calls[1]?.end();
    await turns();
    expect(idle.ended).toBe(true);
  });

  test("waits while as many handlers are stuck as may be, and something is due", async () => {
    const { receiver, send, pass } = rig({ concurrency: 1, maxStuck: 0, timeoutMs: 1_000, graceMs: 500 });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a", "b"));
    await pass(60_000);
    const idle = watch(receiver.idle());
    calls[0]?.end();
    await pass();
    expect([calls.length, idle.ended]).toEqual([2, false]);
    calls[1]?.end();
    await pass();
    expect(idle.ended).toBe(true);
  });

  test("waits for a listener of onDead", async () => {
    const { receiver, send } = rig({ attempts: 1 });
    let marked = (): void => {};
    receiver.on("email", () => {
      throw new Error("no");
    });
    receiver.onDead(() => new Promise<void>((resolve) => (marked = resolve)));
    await receiver.start();
    await send(emails("a"));
    await turns();
    const idle = watch(receiver.idle());
    await turns();
    expect(idle.ended).toBe(false);
    marked();
    await turns();
    expect([idle.ended, receiver.stats().dead]).toEqual([true, 1]);
  });

  test("may be asked by several, before anything came and while it works", async () => {
    const { receiver, send } = rig();
    const { handler, last } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    const early = watch(receiver.idle());
    await turns();
    expect(early.ended).toBe(true);
    await send(emails("a"));
    const asked = [watch(receiver.idle()), watch(receiver.idle())];
    await turns();
    expect(asked.map(({ ended }) => ended)).toEqual([false, false]);
    last().end();
    await turns();
    expect(asked.map(({ ended }) => ended)).toEqual([true, true]);
  });
});
