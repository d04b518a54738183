import { configDefaults, defineConfig } from "vitest/config";

// Imports by path and by name (`hookline/node`) become one module, and nothing needs a build first.
const conditions = ["hookline-source"];

export default defineConfig({
  resolve: { conditions: [...conditions, "module", "node"] },
  ssr: { resolve: { conditions: [...conditions, "module", "node"] } },
  test: {
    include: ["test/**/*.test.ts"],
    // The packed package takes minutes: `npm run test:package`.
    exclude: [...configDefaults.exclude, "test/package.test.ts"],
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts", "adapters/**/*.ts"],
      reporter: ["text", "json-summary"],
      thresholds: { lines: 95, branches: 95 },
    },
  },
});
