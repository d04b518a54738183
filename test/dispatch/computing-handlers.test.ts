import { describe, expect, test } from "vitest";
import { emails, rig } from "../support/rig.ts";

const COUNT = 120;

/** Handlers that compute for 5 ms and wait for nothing. @returns how many calls each turn of the event loop had */
async function callsByTurn(handler: (compute: () => void) => () => unknown): Promise<readonly number[]> {
  const { receiver, send } = rig();
  const calls = [0];
  let isOver = false;
  const tick = (): void => {
    calls.unshift(0);
    if (!isOver) setImmediate(tick);
  };
  receiver.on(
    "email",
    handler(() => {
      const end = performance.now() + 5;
      while (performance.now() < end);
      calls[0] = (calls[0] ?? 0) + 1;
    }),
  );
  await send(emails(...Array.from({ length: COUNT }, (_, at) => `m${at}`)));
  tick();
  await receiver.start();
  await receiver.idle();
  isOver = true;
  return calls;
}

describe("handlers that compute and wait for nothing leave turns of the event loop to everything else", () => {
  test.each([
    ["return", (compute: () => void) => compute],
    ["are async", (compute: () => void) => async () => compute()],
  ])("where they %s", async (_how, handler) => {
    const calls = await callsByTurn(handler);
    expect(calls.reduce((sum, count) => sum + count, 0)).toBe(COUNT);
    // Two begin within 10 ms, and the third ends it; before and after the immediates of one turn.
    expect(Math.max(...calls)).toBeLessThanOrEqual(6);
  });
});
