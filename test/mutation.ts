import { Stryker } from "@stryker-mutator/core";
import { globSync, readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import { parseArgs } from "node:util";

const SQLITE = "adapters/inbox/sqlite";
const TESTED = ["src/dispatch", "src/inbox", "src/ingest", SQLITE];

const USAGE = `Mutates the sources of one folder, and runs the tests of the same folder of test/ on each mutant.

Usage: npm run test:mutation -- FOLDER [--concurrency N]
       npm run test:mutation -- FOLDER/FILE.ts [...]

FOLDER is one with tests that start no processes: ${TESTED.join(", ")}, or one in it.
Of ${SQLITE} only files, by the tests that have their names or import them: most of it runs in threads, which see no mutant.
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
    ...(folder === SQLITE ? { testFiles: sqliteTests() } : { vitest: { dir: folder.replace("src", "test") } }),
    incrementalFile: `.mutation/${basename(folder)}.json`,
    jsonReporter: { fileName: `.mutation/${basename(folder)}-report.json` },
    concurrency: Number(values.concurrency),
  }).runMutationTest();
}

function sqliteTests(): string[] {
  return globSync("test/adapters/inbox/sqlite.*.test.ts").filter((test) => {
    const text = readFileSync(test, "utf8");
    return paths.some(
      (path) => test.endsWith(`/sqlite.${basename(path, ".ts")}.test.ts`) || text.includes(`/${path}"`),
    );
  });
}
