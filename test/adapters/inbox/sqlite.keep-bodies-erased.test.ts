import { expect, onTestFinished, test } from "vitest";
import { mail } from "../../suites/inbox/deliveries.ts";
import { retentionBench, MINUTE_MS } from "./retention-bench.ts";

const ERR = { name: "Error", message: "no", at: 0 };
async function bench(options = {}) {
  const opened = await retentionBench({
    keepBodies: "until-done",
    keepDoneMs: 24 * 60 * MINUTE_MS,
    keepUnhandledMs: 24 * 60 * MINUTE_MS,
    ...options,
  });
  onTestFinished(() => opened.end());
  return opened;
}
const retry = (clock: { now(): number }, ms: number) =>
  ({ to: "retry", at: clock.now() + ms, delayMs: ms, counted: true, error: ERR }) as const;

test("an erasure of one account leaves the body of a dead letter of another", async () => {
  const { inbox, clock, pass, rows, settleDue } = await bench();
  await inbox.store([
    mail(["a"], { accountId: 1, receivedAt: clock.now() }),
    mail(["b"], { accountId: 2, receivedAt: clock.now() }),
  ]);
  await settleDue(retry(clock, 5 * MINUTE_MS)); // both got rows, and wait
  await pass(1); // looked at
  expect(rows("delivery", "length(body) > 0")).toBe(2);
  await settleDue({ to: "dead", error: ERR } as never);
  await clock.advance(5 * MINUTE_MS);
  // a is dead now: a dead letter that is promised to keep its body; b is erased in the same turn of 20 s
  await settleDue({ to: "dead", error: ERR } as never);
  await inbox.jobs.erase(2);
  await pass(1);
  expect(rows("delivery", "length(body) > 0")).toBe(1);
});

test("and that of one whose second job still waits", async () => {
  const { inbox, clock, pass, rows, settleDue } = await bench();
  await inbox.store([
    mail(["a", "a2"], { accountId: 1, receivedAt: clock.now() }),
    mail(["b"], { accountId: 2, receivedAt: clock.now() }),
  ]);
  await settleDue(retry(clock, 5 * MINUTE_MS));
  await pass(1);
  await clock.advance(5 * MINUTE_MS);
  const { claims } = await inbox.claim({ max: 10, mergeMax: 1 });
  for (const claim of claims) {
    const done = claim.jobs[0].lane === "default a";
    await inbox.settle([{ claim, outcomes: [done ? { to: "done" } : retry(clock, 30 * MINUTE_MS)] }]);
  }
  await inbox.jobs.erase(2);
  await pass(1);
  await clock.advance(40 * MINUTE_MS);
  expect(rows("delivery", "length(body) > 0")).toBe(1);
});
