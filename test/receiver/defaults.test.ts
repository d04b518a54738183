import { createReceiver, memoryInbox, type ReceiverOptions } from "hookline";
import { describe, expect, test } from "vitest";
import { resolveOptions } from "../../src/receiver/options.ts";
import { turns } from "../support/event-loop.ts";
import { emails, heldHandler, rig } from "../support/rig.ts";

const records = (count: number): string => emails(...Array.from({ length: count }, (_, index) => `m-${index}`));

describe("what a beginner does not say", () => {
  test("is 10 jobs at once", async () => {
    const { receiver, send } = rig();
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(records(25));
    await turns();
    expect(calls).toHaveLength(10);
  });

  test("is 30 s for an attempt, 30 s of grace, and as many stuck handlers as there are slots", async () => {
    const { receiver, send, pass } = rig();
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(records(45));
    await pass(29_999);
    expect(calls.some(({ ctx }) => ctx.signal.aborted)).toBe(false);
    await pass(1);
    expect(calls.every(({ ctx }) => ctx.signal.aborted)).toBe(true);
    await pass(29_999);
    expect(calls).toHaveLength(10);
    await pass(1);
    expect(calls).toHaveLength(20);
    await pass(3_600_000); // those 20 are stuck: half of them keep their slots
    expect(calls).toHaveLength(20);
  });

  test("is as the README's table says", () => {
    const { limits, ...resolved } = resolveOptions({ secret: "s", inbox: memoryInbox() });
    expect(limits).toEqual({ attempts: Infinity, retryForMs: 86_400_000, timeoutMs: 30_000 });
    expect(resolved).toMatchObject({
      name: "default",
      concurrency: 10,
      maxBodyBytes: 1_048_576,
      maxInFlightBytes: 67_108_864,
      bodyTimeoutMs: 10_000,
      maxAgeSeconds: 604_800,
      secretTimeoutMs: 2_000,
      storeTimeoutMs: 5_000,
      graceMs: 30_000,
      maxStuck: 10,
      gateTimeoutMs: 500,
      maxUnsubscribesPerHour: 10,
      dedupeWindowMs: 8 * 86_400_000,
      logContent: false,
    });
    expect(resolveOptions({ secret: "s", inbox: memoryInbox(), concurrency: 3 }).maxStuck).toBe(3);
  });
});

describe("an option out of its range is refused at once, with what was got and what was expected:", () => {
  test.each<[string, Partial<ReceiverOptions>, string]>([
    ["concurrency", { concurrency: 0 }, "from 1 on"],
    ["attempts", { attempts: 0 }, "from 1 on, or Infinity"],
    ["retryForMs", { retryForMs: -1 }, "from 0 on, or Infinity"],
    ["timeoutMs", { timeoutMs: Number.NaN }, "from 0 to 2,147,483,647"],
    ["graceMs", { graceMs: -1 }, "from 0 to"],
    ["maxStuck", { maxStuck: -1 }, "from 0 on"],
    ["storeTimeoutMs", { storeTimeoutMs: "5" as never }, "from 1 to"],
    ["gate.timeoutMs", { gate: { timeoutMs: 0 } }, "from 1 to"],
    ["dedupe.windowSeconds", { dedupe: { windowSeconds: 0 } }, "from 1 on"],
  ])("%s", (name, options, expected) => {
    const make = (): unknown => createReceiver({ secret: "s", inbox: memoryInbox(), log: false, ...options } as never);
    expect(make).toThrow(expect.objectContaining({ code: "option-invalid" }));
    expect(make).toThrow(name);
    expect(make).toThrow(expected);
  });

  test("also of a handler, with the allowed names", () => {
    const { receiver } = rig();
    expect(() => receiver.on(["email", "contact"], () => {}, { attempts: 0 })).toThrow(/email.*contact.*attempts 0/);
  });
});
