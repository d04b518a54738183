import { configDefaults, defineConfig } from "vitest/config";

// Imports by path and by name (`hookline/node`) become one module, and nothing needs a build first.
const conditions = ["hookline-source"];

export default defineConfig({
  resolve: { conditions: [...conditions, "module", "node"] },
  ssr: { resolve: { conditions: [...conditions, "module", "node"] } },
  test: {
    include: ["test/**/*.test.ts"],
    // vitest leaves a core idle.
    maxWorkers: "100%",
    // What hangs is to end, and nothing is to fail because the machine is busy.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // These take minutes: `npm run test:package`, `npm run test:faults` and `npm run test:mounts`.
    exclude: [...configDefaults.exclude, "test/package.test.ts", "test/faults/**", "test/mounts/**"],
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts", "adapters/**/*.ts"],
      reporter: ["text", "json-summary"],
      thresholds: { lines: 95, branches: 95 },
    },
  },
});
