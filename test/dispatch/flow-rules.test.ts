import { expect, test } from "vitest";
import { createFlowRules } from "../../src/dispatch/claims/flow-rules.ts";
import type { Claim } from "../../src/inbox/port/claims.ts";
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

test("a claim is held by the account by which the inbox holds its lane: else the two would hand it back and forth", () => {
  const list = [{ accountId: 7, reason: "r", since: 0 }];
  const how = {
    fairness: "account",
    perAccount: () => Infinity,
    pauses: { current: () => list },
    clock: fakeClock(),
    faultLog: logRecorder().logger,
  } as const;
  const rules = createFlowRules(how, () => {});
  const job = { consumer: "default", event: { accountId: 7 } };
  const isHeld = (one: object): boolean => rules.isHeldClaim({ jobs: [one] } as unknown as Claim);
  expect(isHeld({ ...job, accountId: undefined })).toBe(false);
  expect(isHeld({ ...job, accountId: 7 })).toBe(true);
  expect(isHeld(job)).toBe(true);
  rules.stop();
});

test("what a pause holds is held on when a delay ends: what is parked for it is not asked of again", async () => {
  const clock = fakeClock();
  const list = [{ consumer: "paused", reason: "r", since: 0 }];
  const how = {
    fairness: "account",
    perAccount: () => Infinity,
    pauses: { current: () => list },
    clock,
    faultLog: logRecorder().logger,
  } as const;
  const rules = createFlowRules(how, () => void rules.follow());
  rules.delay("default", 7, clock.now() + 1_000);
  rules.follow();
  expect([rules.holds, rules.isHeld("default", 7), rules.holds]).toEqual([false, true, true]);
  await clock.advance(1_100);
  expect(rules.holds).toBe(false);
  rules.delay("default", 7, clock.now() + 1_000);
  expect([rules.isHeld("paused", 8), rules.isHeld("default", 7)]).toEqual([true, true]);
  await clock.advance(1_100);
  expect([rules.delays(), rules.holds]).toEqual([[], true]);
  rules.stop();
});
