import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { fromSource } from "./vitest.config.ts";

/** They run the same lines tens of thousands of times, for a third of all the time. */
const ofVolume = [
  "**/many-entries.test.ts",
  "**/volume.test.ts",
  "**/sqlite.{backlog,disk-use,no-job-lost,stream}.test.ts",
];

const ofProcesses = [
  "**/*.process.test.ts",
  "**/forward-queue.test.ts",
  "**/postgres*.test.ts",
  "**/sqlite.{bundle,close,crash,file,hand-over,held-memory,processes,takeover,threads,worker-lock}.test.ts",
];

/** Most mutants are killed by a quick test, and a run ends with the first test that fails. */
class QuickFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const longestFirst = await super.sort(files); // oxlint-disable-line no-array-sort -- it is not of an array
    return longestFirst.toReversed();
  }
}

/** What `npm run test:mutation` runs, of one folder. A mutant lives in the process of the tests: what starts others sees none. */
export default defineConfig({
  ...fromSource,
  test: {
    include: ["**/*.test.ts"],
    exclude: [...configDefaults.exclude, ...ofProcesses, ...ofVolume],
    // Worker processes are used again: a process for each test file and mutant would take most of the time.
    isolate: false,
    sequence: { sequencer: QuickFirst },
    // Most mutants that hang are tests that wait in vain: ending the test is quicker than ending the worker.
    testTimeout: 5_000,
  },
});
