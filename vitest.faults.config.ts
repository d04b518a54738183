import { defineConfig } from "vitest/config";

const conditions = ["hookline-source"];

// Each row takes seconds to minutes, keeps both cores busy and kills processes: one file at a time.
export default defineConfig({
  resolve: { conditions: [...conditions, "module", "node"] },
  ssr: { resolve: { conditions: [...conditions, "module", "node"] } },
  test: {
    include: ["test/faults/**/*.test.ts"],
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 120_000,
    // What was tried and what was lost is the row's result: it must be seen when nothing fails, too.
    disableConsoleIntercept: true,
  },
});
