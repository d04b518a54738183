import { describe, expect, test } from "vitest";
import { report } from "./report.ts";
import { runSeed } from "./run.ts";

/** `npm run test:sim` has 10,000. */
const SEEDS = 500;
const AT_ONCE = 50;

describe("a simulated world", () => {
  test.each(Array.from({ length: SEEDS / AT_ONCE }, (_, index) => [index * AT_ONCE + 1, (index + 1) * AT_ONCE]))(
    "keeps every rule with seeds %d to %d",
    { timeout: 60_000 },
    async (first, last) => {
      for (let seed = first; seed <= last; seed += 1) {
        const outcome = await runSeed(seed);
        if (outcome.failure !== undefined) expect.fail(`\n${report(outcome)}`);
      }
    },
  );

  test("has one story for one seed, and another for another", { timeout: 60_000 }, async () => {
    const stories = [await runSeed(7), await runSeed(8), await runSeed(7)].map(({ hash }) => hash);
    expect(stories[2]).toBe(stories[0]);
    expect(stories[1]).not.toBe(stories[0]);
  });

  test("leaves the program's own chance alone", async () => {
    const { random } = Math;
    await runSeed(1);
    expect(Math.random).toBe(random);
  });
});
