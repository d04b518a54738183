import { expect, test } from "vitest";
import { runSeed } from "./run-seed.ts";

const RUNS = 200;
const OVER_SOCKETS = 20;

test(`in ${RUNS} worlds, everything acknowledged is handled or dead, and nothing is unsubscribed without a decision`, async () => {
  let attempts = 0;
  for (let seed = 1; seed <= RUNS; seed += 1) {
    const outcome = await runSeed(seed);
    attempts += outcome.attempts;
    expect(outcome.broken, `seed ${seed}`).toEqual([]);
  }
  expect(attempts).toBeGreaterThan(RUNS * 10);
});

test(`in ${OVER_SOCKETS} worlds over sockets, too`, async () => {
  for (let seed = 1; seed <= OVER_SOCKETS; seed += 1)
    expect((await runSeed(seed, true)).broken, `seed ${seed}`).toEqual([]);
});
