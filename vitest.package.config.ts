import { defineConfig } from "vitest/config";

// No source condition here: what is tested is what users install.
export default defineConfig({
  test: {
    include: ["test/package.test.ts"],
    testTimeout: 120_000,
    // A first run downloads the package's dependencies, three compilers and an old Node.
    hookTimeout: 300_000,
  },
});
