import { configDefaults, defineConfig } from "vitest/config";
import { fromSource } from "./vitest.config.ts";

/** They run the same lines tens of thousands of times, for a third of all the time. */
const ofVolume = ["**/many-entries.test.ts", "**/volume.test.ts"];

/** What `npm run test:mutation` runs, of one folder. A mutant lives in the process of the tests: what starts others sees none. */
export default defineConfig({
  ...fromSource,
  test: {
    include: ["**/*.test.ts"],
    exclude: [...configDefaults.exclude, "**/*.process.test.ts", "**/forward-queue.test.ts", ...ofVolume],
    // Worker processes are used again: a process for each test file and mutant would take most of the time.
    isolate: false,
    testTimeout: 60_000,
  },
});
