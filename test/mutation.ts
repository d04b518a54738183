import { Stryker } from "@stryker-mutator/core";
import { statSync } from "node:fs";
import { basename } from "node:path";
import { parseArgs } from "node:util";

const TESTED = ["src/dispatch", "src/inbox", "src/ingest", "adapters/inbox/sqlite"];

const USAGE = `Mutates the sources of one folder, and runs the tests of the same folder of test/ on each mutant.

Usage: npm run test:mutation -- FOLDER [--concurrency N]
       npm run test:mutation -- FOLDER/FILE.ts [...]

FOLDER is one with tests that start no processes: ${TESTED.join(", ")}, or one in it.
What ran before on the same sources and tests does not run again: the results are in .mutation/.`;

const { positionals: paths, values } = parseArgs({
  allowPositionals: true,
  options: { concurrency: { type: "string", default: "2" } },
});
const [folder, ...others] = new Set(paths.map((path) => TESTED.find((tested) => `${path}/`.startsWith(`${tested}/`))));

if (folder === undefined || others.length > 0) {
  console.error(USAGE);
  process.exitCode = 2;
} else {
  await new Stryker({
    mutate: paths.map((path) => (statSync(path).isDirectory() ? `${path}/**/*.ts` : path)),
    vitest: { dir: testsOf(folder) },
    incrementalFile: `.mutation/${basename(folder)}.json`,
    jsonReporter: { fileName: `.mutation/${basename(folder)}-report.json` },
    concurrency: Number(values.concurrency),
  }).runMutationTest();
}

function testsOf(sources: string): string {
  return sources.startsWith("src/") ? sources.replace("src", "test") : "test/adapters/inbox";
}
