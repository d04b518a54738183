import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** What the runbook says about a problem; without the page, such as in a bundle, where it is. */
export function runbookSection(code: string): string {
  const sections = readRunbook()?.split(/^## /m) ?? [];
  const found = sections.find((section) => section.startsWith(`${code}\n`));
  return found?.slice(code.length).trim() ?? "See docs/operate/runbook.md in the package hookline.";
}

function readRunbook(): string | undefined {
  try {
    // By the package's own name: the sources and the build are at different depths.
    const root = dirname(createRequire(import.meta.url).resolve("hookline/package.json"));
    return readFileSync(join(root, "docs/operate/runbook.md"), "utf8");
  } catch {
    return undefined;
  }
}
