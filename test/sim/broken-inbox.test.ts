import { describe, expect, test } from "vitest";
import { WAYS } from "./broken-inbox/broken-inbox.ts";
import { runBroken } from "./broken-inbox/run-broken.ts";

const SEEDS = 2;

/** `npm run test:sim -- --broken` has more seeds. */
describe("beside a receiver whose inbox breaks", () => {
  test.each(WAYS)("by $verb that $fault, nothing stops anything else, and a standstill is seen", async (way) => {
    for (let seed = 1; seed <= SEEDS; seed += 1) expect(await runBroken(seed, way)).toEqual([]);
  });
});
