import { expect, test } from "vitest";
import { createFlowRules } from "../../src/dispatch/flow-rules.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { logRecorder } from "../support/log-recorder.ts";

test("delays of a thousand accounts that end within a second end in few steps, none of them too early", async () => {
  const clock = fakeClock();
  const none: readonly never[] = [];
  const pauses = { current: () => none };
  const how = {
    fairness: "account",
    perAccount: () => Infinity,
    pauses,
    clock,
    faultLog: logRecorder().logger,
  } as const;
  const rules = createFlowRules(how, () => void rules.follow());
  const startedAt = clock.now();
  const ends = Array.from({ length: 1_000 }, (_, index) => startedAt + 1_000 + index);
  for (const [account, end] of ends.entries()) rules.delay("default", account, end);
  rules.follow();
  const before = rules.version;
  for (let ms = 0; ms < 2_100; ms += 10) {
    await clock.advance(10);
    expect(ends.every((end, account) => end <= clock.now() || rules.isHeld("default", account))).toBe(true);
  }
  expect(rules.delays()).toEqual([]);
  expect(rules.isHeld("default", 999)).toBe(false);
  expect(rules.version - before).toBeLessThanOrEqual(21);
  rules.stop();
});
