import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startNode } from "../cli/child.ts";
import { root } from "./pages.ts";

describe("docs/recipes/testing.md", () => {
  const chapter = readFileSync(join(root, "docs/recipes/testing.md"), "utf8");
  /** Inside the repository, or `hookline` could not be found by its name. */
  const folder = mkdtempSync(join(root, "test", ".readme-testing-"));
  const folderName = `test/${basename(folder)}`;

  const files = [...chapter.matchAll(/^```ts file=(\S+)\n(.*?)^```$/gms)].map(([, name = "", code = ""]) => ({
    // Another name than tests have here: a run beside this one must not take them for its own.
    name: name.replace(".test.ts", ".example.ts"),
    code,
  }));

  beforeAll(() => {
    for (const { name, code } of files) writeFileSync(join(folder, name), code);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("has tests, and no code that is not run", () => {
    expect(files.map(({ name }) => name).filter((name) => !name.endsWith(".example.ts"))).toEqual(["app.ts"]);
    expect([...chapter.matchAll(/^```\w/gm)]).toHaveLength(files.length);
  });

  test("has tests that pass", { timeout: 180_000 }, async () => {
    const config = { include: [`${folderName}/*.example.ts`], testTimeout: 60_000 };
    writeFileSync(
      join(folder, "vitest.config.ts"),
      `import { fromSource } from "../../vitest.config.ts";\nexport default { ...fromSource, test: ${JSON.stringify(config)} };\n`,
    );
    const report = join(folder, "report.json");
    const run = startNode([
      "node_modules/vitest/vitest.mjs",
      "run",
      `--config=${folderName}/vitest.config.ts`,
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${report}`,
    ]);
    expect(await run.ended, run.out() + run.err()).toBe(0);
    const { numTotalTests, numPassedTests } = JSON.parse(readFileSync(report, "utf8")) as Record<string, number>;
    expect(numPassedTests).toBe(numTotalTests);
    // A loop over cases makes many of one.
    expect(numTotalTests).toBeGreaterThanOrEqual([...chapter.matchAll(/^test\(/gm)].length);
  });

  test("has code that type-checks", { timeout: 120_000 }, async () => {
    // As strict as most programs are; what this repository asks of itself beyond that is its own affair.
    const relaxed = { noImplicitReturns: false, noPropertyAccessFromIndexSignature: false };
    const config = {
      extends: "../../tsconfig.json",
      compilerOptions: { rootDir: "../..", ...relaxed },
      include: [],
      files: files.map(({ name }) => name),
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const compiler = startNode(["node_modules/typescript/bin/tsc", "-p", folder]);
    expect(await compiler.ended, compiler.out() + compiler.err()).toBe(0);
  });
});
