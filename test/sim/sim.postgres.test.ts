import { expect, test } from "vitest";
import { report } from "./report.ts";
import { runSeed } from "./run-seed.ts";

/** `npm run test:sim -- --inbox postgres` has more. The server's times are not of the seed: what fails may need some runs to fail again. */
test.each([1, 2, 3])("a simulated world with the inbox postgres keeps every rule with seed %d", async (seed) => {
  const outcome = await runSeed(seed, "postgres");
  if (outcome.failure !== undefined) expect.fail(`\n${report(outcome, "postgres")}`);
});
