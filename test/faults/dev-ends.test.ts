import { expect, test } from "vitest";
import { endRuns } from "./end-runs.ts";
import { report, rounds } from "./matrix/rounds.ts";

test("hookline dev: runs ended by SIGINT, SIGTERM and kill -9, at three moments, leave no subscription behind", async () => {
  const found = await endRuns(rounds(100));
  report("hookline dev", found);
  expect(found).toMatchObject({ afterSignal: 0, afterNextStart: 0, left: 0 });
});
