import { Stryker } from "@stryker-mutator/core";
import { statSync } from "node:fs";
import { parseArgs } from "node:util";

const USAGE = `Mutates the sources of one folder, and runs the tests of the same folder of test/ on each mutant.

Usage: npm run test:mutation -- src/FOLDER [--concurrency N]
       npm run test:mutation -- src/FOLDER/FILE.ts [...]

FOLDER is one with tests that start no processes: dispatch, inbox, ingest.
What ran before on the same sources and tests does not run again: the results are in .mutation/.`;

const { positionals: paths, values } = parseArgs({
  allowPositionals: true,
  options: { concurrency: { type: "string", default: "2" } },
});
const [folder, ...others] = new Set(paths.map((path) => /^src\/(dispatch|inbox|ingest)\b/.exec(path)?.[1]));

if (folder === undefined || others.length > 0) {
  console.error(USAGE);
  process.exitCode = 2;
} else {
  await new Stryker({
    mutate: paths.map((path) => (statSync(path).isDirectory() ? `${path}/**/*.ts` : path)),
    vitest: { dir: `test/${folder}` },
    incrementalFile: `.mutation/${folder}.json`,
    jsonReporter: { fileName: `.mutation/${folder}-report.json` },
    concurrency: Number(values.concurrency),
  }).runMutationTest();
}
