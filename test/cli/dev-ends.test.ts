import { expect, test } from "vitest";
import { endRuns } from "./dev/end-runs.ts";

/** All hundred are in test/faults. */
test("runs that are ended or killed leave no subscription behind after the next start", async () => {
  expect(await endRuns(3)).toMatchObject({ afterSignal: 0, afterNextStart: 0, left: 0 });
});
