import { defineConfig } from "vitest/config";

const conditions = ["hookline-source"];

// Runtimes beside Node, and frameworks that have to be built: processes that take seconds to begin, one file at a time.
export default defineConfig({
  resolve: { conditions: [...conditions, "module", "node"] },
  ssr: { resolve: { conditions: [...conditions, "module", "node"] } },
  test: {
    include: ["test/mounts/**/*.test.ts"],
    exclude: ["**/node_modules/**"],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 300_000,
  },
});
