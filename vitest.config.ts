import { join } from "node:path";
import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from "vitest/config";

// Threads and processes of tests run the TypeScript sources: each would strip the types of all its files again, which took a quarter of
// the time of all tests.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/node");

const conditions = ["hookline-source", "node"];

/** Imports by path and by name (`hookline/node`) become one module, and nothing needs a build first. */
export const fromSource = { resolve: { conditions }, ssr: { resolve: { conditions } } };

/** These need a server, and start it once for all of them. Faults and benchmarks have a server of their own. */
const onPostgres = ["test/!(faults|bench)/**/*postgres*.test.ts"];

const postgres: TestProjectInlineConfiguration = {
  ...fromSource,
  test: {
    name: "postgres",
    include: onPostgres,
    isolate: false,
    globalSetup: ["test/support/postgres/shared-server.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
};

/** It compiles a mock cluster, and mostly waits for its groups to settle. */
const KAFKA = "test/examples/kafka.test.ts";

/** The pages of the emulator and of the dashboard. */
const inBrowser = ["test/emulator/page.test.ts", "test/emulator/docs-page.test.ts", "test/dashboard/page.test.ts"];

/** Simulated worlds, the suite of inboxes in a file, and properties that run for long. */
const LONG = [
  "test/sim/**/*.test.ts",
  "test/emulator/simulation/**/*.test.ts",
  "test/adapters/inbox/sqlite.{suite,crash,retention-per-delivery,parked-lanes}.test.ts",
  "test/sync/delta-sync.property.test.ts",
  "test/emulator/http/openapi.test.ts",
];

/** What `npm test` runs. */
const unit: TestProjectInlineConfiguration = {
  ...fromSource,
  test: {
    name: "unit",
    include: ["test/**/*.test.ts"],
    exclude: [
      ...configDefaults.exclude,
      "test/package.test.ts",
      "test/bench/**",
      "test/deploy/**",
      "test/docs/**",
      "test/examples/**",
      "test/faults/**",
      "test/mounts/**",
      "test/site/**",
      ...inBrowser,
      ...onPostgres,
      ...LONG,
    ],
    // A process of its own for each file would take a third of the time.
    isolate: false,
    // Long enough for a busy machine: it only ends tests that hang.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
};

const long: TestProjectInlineConfiguration = {
  ...fromSource,
  test: {
    name: "long",
    include: LONG,
    exclude: [...configDefaults.exclude, ...onPostgres],
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
};

/** Every command and program of the pages, and the examples: each is a process of its own. */
const docs: TestProjectInlineConfiguration = {
  ...fromSource,
  test: {
    name: "docs",
    include: ["test/docs/**/*.test.ts", "test/examples/**/*.test.ts"],
    exclude: [...configDefaults.exclude, KAFKA, ...onPostgres],
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
};

/** The benchmarks' own code, and their rows in a small form. */
const bench: TestProjectInlineConfiguration = {
  ...fromSource,
  test: { name: "bench", include: ["test/bench/**/*.test.ts"], isolate: false, testTimeout: 60_000 },
};

/** Each row takes seconds to minutes, keeps both cores busy and kills processes: one file at a time. */
const faults: TestProjectInlineConfiguration = {
  ...fromSource,
  test: {
    name: "faults",
    include: ["test/faults/**/*.test.ts"],
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 120_000,
    // Rows print their results, which must be visible also when they pass.
    disableConsoleIntercept: true,
  },
};

/** Other runtimes, and what needs a build: their processes start slowly, so one file at a time. */
const mounts: TestProjectInlineConfiguration = {
  ...fromSource,
  test: {
    name: "mounts",
    include: ["test/mounts/**/*.test.ts", KAFKA],
    exclude: ["**/node_modules/**"],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 300_000,
  },
};

/** No source condition here: this tests the package as users install it. */
const packed: TestProjectInlineConfiguration = {
  test: {
    name: "package",
    include: ["test/package.test.ts"],
    testTimeout: 120_000,
    // A first run downloads the package's dependencies, three compilers and an old Node.
    hookTimeout: 300_000,
  },
};

/** The files of `deploy/`: built, run and checked by the programs that they are for. */
const deploy: TestProjectInlineConfiguration = {
  ...fromSource,
  test: {
    name: "deploy",
    include: ["test/deploy/**/*.test.ts"],
    testTimeout: 60_000,
    // A base image is made of Debian's packages, and npm installs into it.
    hookTimeout: 300_000,
  },
};

/** What Chromium shows: the built site of the documentation, and the pages. */
const browser: TestProjectInlineConfiguration = {
  ...fromSource,
  test: {
    name: "browser",
    include: ["test/site/**/*.test.ts", ...inBrowser],
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
};

export default defineConfig({
  test: {
    projects: [unit, long, docs, bench, postgres, faults, mounts, packed, deploy, browser],
    // More than there are cores: many tests wait for processes, servers and the disk.
    maxWorkers: "150%",
    // V8 frees the wrappers of WebAssembly's imports twice where threads that run TypeScript end while `fetch` is busy, and the process
    // crashes (`jit_page.has_value()`, Node 24). Wrappers that never get hot are never replaced, and so not freed.
    execArgv: ["--wasm-wrapper-tiering-budget=2147483647"],
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts", "adapters/**/*.ts"],
      reporter: ["text", "json-summary"],
      thresholds: { lines: 95, branches: 95 },
    },
  },
});
