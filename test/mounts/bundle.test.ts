import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Metafile } from "esbuild";
import { describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { BUDGETS } from "./budgets.ts";
import { bundle, FOR_NODE, FOR_WORKERS } from "./bundle.ts";

const root = join(import.meta.dirname, "../..");

describe("what an entry weighs in a bundle", () => {
  test("has a budget for each", () => {
    const entries = Object.keys(manifest.exports).filter((entry) => entry !== "./package.json");
    expect(Object.keys(BUDGETS).toSorted()).toEqual(entries.toSorted());
  });

  test.each(Object.entries(BUDGETS))("%s", async (entry, { target, kib }) => {
    const { code, metafile } = await bundle({
      ...(target === "workers" ? FOR_WORKERS : FOR_NODE),
      minify: true,
      stdin: { contents: programOf(entry), resolveDir: root },
    });
    const weighs = gzipSync(code, { level: 9 }).byteLength / 1024;
    expect(weighs, heaviest(metafile)).toBeLessThan(kib);
  });
});

/** A mount is of no use without a receiver; the signature is. */
function programOf(entry: string): string {
  const all = `export * from "${join("hookline", entry)}";`;
  return entry === "./signature" ? all : `export { createReceiver, forwardInbox } from "hookline"; ${all}`;
}

/** What of it is whose, in KiB before compression. */
function heaviest({ outputs }: Metafile): string {
  const byOwner = new Map<string, number>();
  for (const { inputs } of Object.values(outputs))
    for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
      const owner = path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1] ?? path.split("/").slice(0, 2).join("/");
      byOwner.set(owner, (byOwner.get(owner) ?? 0) + bytesInOutput);
    }
  const rows = [...byOwner].toSorted(([, a], [, b]) => b - a).slice(0, 12);
  return `What weighs most, minified:\n${rows.map(([owner, bytes]) => `${(bytes / 1024).toFixed(1)} KiB ${owner}`).join("\n")}\n`;
}
