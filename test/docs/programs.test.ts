import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withExamples } from "../../docs/tools/shown-examples.ts";
import { startNode } from "../cli/child.ts";
import { COMPILE_CACHE } from "../support/compile-cache.ts";
import { blocksOf, pages, root } from "./pages.ts";

/** Inside the repository, or `hookline` could not be found by its name. */
const folder = mkdtempSync(join(root, "test/.readme-programs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const AT_ONCE = 4;

const programs = pages
  // Its code is a test of its own: contributing.test.ts.
  .filter(({ file }) => file !== "CONTRIBUTING.md")
  .flatMap((page) =>
    blocksOf(page, "ts").map((code, index) => ({
      name: `${page.file.replace(/\.md$/, "")}-${index + 1}`.replaceAll("/", "-"),
      code,
    })),
  );

describe("the programs of the pages", () => {
  const ended = new Map<string, string>();

  beforeAll(async () => {
    for (const { name, code } of programs) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, "program.ts"), code);
    }
    const names = programs.map(({ name }) => name);
    const runNext = async (): Promise<void> => {
      for (let name = names.pop(); name !== undefined; name = names.pop())
        ended.set(name, await run(join(folder, name)));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, runNext));
  }, 180_000);

  test.each(programs)("$name runs to its end", ({ name }) => expect(ended.get(name)).toBe("ended with 0"));

  test("type-check", { timeout: 180_000 }, async () => {
    // As strict as most programs are; what this repository asks of itself beyond that is its own affair.
    const relaxed = { noUnusedLocals: false, noImplicitReturns: false, noPropertyAccessFromIndexSignature: false };
    const config = {
      extends: "../../tsconfig.json",
      compilerOptions: { rootDir: "../..", ...relaxed },
      include: ["*/program.ts"],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const compiler = startNode(["node_modules/typescript/bin/tsc", "-p", `test/${basename(folder)}`]);
    expect(await compiler.ended, compiler.out() + compiler.err()).toBe(0);
  });
});

test.each(pages.filter(({ text }) => /^```ts file=\S*examples\//m.test(text)))(
  "$file shows the examples as they are (npm run docs:reference)",
  ({ file, text }) => {
    expect(text).toBe(withExamples(text, join(root, file)));
  },
);

test("no page has code of a kind that no test looks at", () => {
  // Tests look for blocks that are not part of a list.
  expect(pages.filter(({ text }) => /^ +```/m.test(text)).map(({ file }) => file)).toEqual([]);
  const kinds = pages.flatMap(({ file, text }) =>
    [...text.matchAll(/^```(\S[^\n]*)$/gm)].map(([, kind = ""]) => ({ file, kind })),
  );
  const known = /^(?:ts|ts file=\S*examples\/\S+|sh|text|json|yaml|ini|nginx|dockerfile)$/;
  const own = new Map([
    ["README.md", ["ts file=app.ts"]],
    ["CONTRIBUTING.md", ["ts file=my-receiver.ts"]],
    ["docs/start/quickstart.md", ["ts file=app.ts"]],
    // The README's program: test/docs/npm-readme.test.ts.
    ["docs/index.md", ["ts file=app.ts"]],
    // Its code is run by test/docs/postgres-commands.test.ts.
    ["docs/deploy/postgres.md", ["ts file=app.ts"]],
    // Its code is run by test/docs/gateway-page.test.ts.
    ["docs/deploy/gateway.md", ["python"]],
    // Its code is built by test/adapters/inbox/sqlite.bundle.test.ts.
    ["docs/deploy/bundlers.md", ["ts file=app.ts", "js file=build.js", "js"]],
  ]);
  expect(
    kinds.filter(
      ({ file, kind }) => !known.test(kind) && own.get(file)?.includes(kind) !== true && !file.endsWith("testing.md"),
    ),
  ).toEqual([]);
});

/** How a program ended, with what it printed if that is not well. */
async function run(cwd: string): Promise<string> {
  const child = spawn(process.execPath, ["--conditions=hookline-source", "program.ts"], {
    cwd,
    env: COMPILE_CACHE,
    timeout: 60_000,
  });
  const [printed, [code]] = await Promise.all([
    Promise.all([readText(child.stdout), readText(child.stderr)]),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return code === 0 ? "ended with 0" : `ended with ${code}: ${printed.join("")}`;
}
