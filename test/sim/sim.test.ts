import { describe, expect, test } from "vitest";
import { report } from "./report.ts";
import { runSeed } from "./run-seed.ts";
import type { StoreName } from "./stores.ts";

const AT_ONCE = 25;

/** `npm run test:sim` has 10,000, of each inbox; .ci/run has some hundreds. */
describe.each([
  ["memory", 100],
  ["sqlite", 25],
  ["sqlite-thread", 3],
] as const)("a simulated world with the inbox %s", (store, seeds) => {
  test.each(chunks(seeds))("keeps every rule with seeds %d to %d", (first, last) =>
    liveThrough(store, { first, last }),
  );
});

describe("a simulated world", () => {
  test.each(["memory", "sqlite"] as const)(
    "has one story for one seed, and another for another, with the inbox %s",
    async (store) => {
      const outcomes = [await runSeed(7, store), await runSeed(8, store), await runSeed(7, store)];
      const stories = outcomes.map(({ hash }) => hash);
      expect(stories[2]).toBe(stories[0]);
      expect(stories[1]).not.toBe(stories[0]);
    },
  );

  test("leaves the program's own chance alone", async () => {
    const { random } = Math;
    await runSeed(1);
    expect(Math.random).toBe(random);
  });
});

async function liveThrough(store: StoreName, { first, last }: { first: number; last: number }): Promise<void> {
  for (let seed = first; seed <= last; seed += 1) {
    const outcome = await runSeed(seed, store);
    if (outcome.failure !== undefined) expect.fail(`\n${report(outcome, store)}`);
  }
}

function chunks(seeds: number): [first: number, last: number][] {
  return Array.from({ length: Math.ceil(seeds / AT_ONCE) }, (_, index) => [
    index * AT_ONCE + 1,
    Math.min((index + 1) * AT_ONCE, seeds),
  ]);
}
