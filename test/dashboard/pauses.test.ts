import type { FlowPause } from "hookline";
import { expect, test } from "vitest";
import { LOOKS } from "../../src/dashboard/view-data.ts";
import type { DashboardSource } from "../../src/dashboard/source.ts";
import { deferred } from "../support/event-loop.ts";
import { rig } from "../support/rig.ts";

const PAUSE: FlowPause = { consumer: "crm", reason: "down", since: new Date(0), waiting: 7 };

/** A source whose list of pauses takes as long as `held` is. */
function counting(held: () => Promise<void>) {
  const { receiver } = rig();
  const { health, jobs, lists, resubscribe, flow } = receiver;
  let counted = 0;
  const paused = async () => {
    counted += 1;
    await held();
    return [PAUSE];
  };
  const source: DashboardSource = {
    health,
    jobs,
    lists,
    resubscribe,
    flow: { ...flow, paused },
    activity: () => ({ role: "worked-on" }),
  };
  return { look: async () => LOOKS["now"]?.({ source, query: {}, content: true }), counted: () => counted };
}

test("many who look at once count the jobs of pauses once", async () => {
  const { promise, resolve } = deferred();
  const { look, counted } = counting(() => promise);
  const looks = Array.from({ length: 5 }, look);
  resolve();
  expect(await Promise.all(looks)).toEqual(
    Array.from(looks, () => expect.objectContaining({ paused: [{ ...PAUSE }] })),
  );
  expect(counted()).toBe(1);
});

test("a count that took long is shown for a while, and then made anew", async () => {
  let took = 0;
  const { look, counted } = counting(async () => {
    const end = performance.now() + 20;
    while (performance.now() < end) took += 1;
  });
  await look();
  await look();
  expect(counted()).toBe(1);
  while (counted() === 1) await look();
  expect(took).toBeGreaterThan(0);
});
