import { describe, expect, test } from "vitest";
import { toStored } from "../../src/inbox/port/delivery.ts";
import { makeDelivery } from "../support/make-delivery.ts";
import { emails, rig } from "../support/rig.ts";

const COUNT = 24_000;

/** Handlers without I/O, and what the event loop had run beside them. */
async function handled(): Promise<{ readonly turns: Set<number>; readonly calls: number }> {
  const { receiver } = rig();
  let turn = 0;
  let isOver = false;
  const turns = new Set<number>();
  const tick = (): void => {
    turn += 1;
    if (!isOver) setImmediate(tick);
  };
  tick();
  let calls = 0;
  receiver.on("email", () => {
    calls += 1;
    turns.add(turn);
  });
  await receiver.handle(toStored("d-1", makeDelivery(emails(...Array.from({ length: COUNT }, (_, at) => `m${at}`)))));
  isOver = true;
  return { turns, calls };
}

describe("a delivery of 24,000 changes without an inbox", () => {
  test("leaves turns of the event loop to others while its handlers run, each once", async () => {
    const { turns, calls } = await handled();
    expect(calls).toBe(COUNT);
    expect(turns.size).toBeGreaterThan(2);
  });

  test("ends its calls when its signal aborts meanwhile", async () => {
    const { receiver } = rig();
    const controller = new AbortController();
    let calls = 0;
    receiver.on("email", () => {
      calls += 1;
      if (calls === 1) setImmediate(() => controller.abort(new Error("late")));
    });
    const body = emails(...Array.from({ length: COUNT }, (_, at) => `m${at}`));
    await expect(
      receiver.handle(toStored("d-1", makeDelivery(body)), { signal: controller.signal }),
    ).rejects.toMatchObject({ code: "handle-failed" });
    expect(calls).toBeLessThan(COUNT);
  });
});
