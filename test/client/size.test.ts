import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { bundle } from "../mounts/bundle.ts";

/** KiB, gzipped, without zod, which an app that has the rest of this package has already. */
const BUDGET_KIB = 18.5;

test(`hookline/client for a browser has ${BUDGET_KIB} KiB at most, and nothing of Node`, async () => {
  const { code, metafile } = await bundle({
    platform: "browser",
    conditions: ["hookline-source"],
    minify: true,
    external: ["zod", "zod/*"],
    stdin: { contents: 'export * from "hookline/client";', resolveDir: join(import.meta.dirname, "../..") },
  });
  const imported = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path));
  expect([...new Set(imported)]).toEqual(["zod/mini"]);
  expect(gzipSync(code, { level: 9 }).byteLength / 1024).toBeLessThan(BUDGET_KIB);
});
